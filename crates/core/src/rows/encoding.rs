//! Detects the encoding of a text and decodes it to UTF-8 while it is read.
//!
//! Everything after this file sees UTF-8. Invalid bytes become 0xFF, which UTF-8 never contains: the
//! row is then refused with its line, never repaired silently. Line ends survive, because no decoder
//! consumes an ASCII byte as part of a broken sequence.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use chardetng::EncodingDetector;
use encoding_rs::{Decoder, DecoderResult};
use serde::{Deserialize, Serialize};

use super::bad_row::{BadRow, excerpt};
use crate::{Error, Result};

/// The number of wide characters that proves an encoding.
const ENOUGH: usize = 8;

/// A text encoding, by any of its names in the WHATWG standard: `gb18030`, `big5`,
/// `shift_jis`, `euc-kr`, `utf-16le`, `windows-1252`, `latin1` …
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Encoding(&'static encoding_rs::Encoding);

impl Encoding {
    /// UTF-8.
    pub const UTF_8: Encoding = Encoding(encoding_rs::UTF_8);

    /// The encoding that a byte-order mark at the start of `head` names, and its length.
    pub(super) fn of_mark(head: &[u8]) -> Option<(Encoding, usize)> {
        encoding_rs::Encoding::for_bom(head).map(|(encoding, length)| (Encoding(encoding), length))
    }

    /// The encoding of a text that begins with `head`, if it is certain and not UTF-8. A text
    /// that is mostly UTF-8 is UTF-8 with bad lines. Single-byte encodings are never guessed,
    /// because every text is valid in them.
    pub(super) fn detect(head: &[u8]) -> Option<Encoding> {
        if let Some(wide) = without_mark(head) {
            return Some(wide);
        }
        let whole = match head.iter().rposition(|&byte| byte == b'\n') {
            Some(end) => &head[..=end],
            None => head,
        };
        if is_iso_2022_jp(whole) {
            return Some(Encoding(encoding_rs::ISO_2022_JP));
        }
        if std::str::from_utf8(whole).is_ok() || mostly_utf8(whole) {
            return None;
        }
        let mut detector = EncodingDetector::new();
        detector.feed(whole, true);
        // GB18030 extends GBK.
        let guess = match detector.guess(None, false) {
            guess if guess == encoding_rs::GBK => encoding_rs::GB18030,
            guess => guess,
        };
        let text = guess.decode_without_bom_handling_and_without_replacement(whole)?;
        let foreign = || text.chars().filter(|c| !c.is_ascii());
        let wide = foreign().filter(|c| is_wide(*c)).count();
        let believable =
            !guess.is_single_byte() && wide >= ENOUGH && 4 * wide >= 3 * foreign().count();
        // In Latin text most high bytes stand alone between letters.
        let paired = whole.windows(2).filter(|pair| !pair[0].is_ascii() && !pair[1].is_ascii());
        (believable && paired.count() >= wide / 2).then_some(Encoding(guess))
    }

    /// A doubt about reading a text that begins with `head` in this encoding: lines that are UTF-8
    /// with so many Chinese, Japanese or Korean characters that it cannot be an accident.
    pub(super) fn doubt(self, head: &[u8]) -> Option<String> {
        if self.0 == encoding_rs::UTF_16LE || self.0 == encoding_rs::UTF_16BE {
            return None;
        }
        let lines = head.split(|&byte| byte == b'\n').filter(|line| !line.is_ascii());
        let (mut all, mut utf8) = (0, 0);
        for line in lines {
            all += 1;
            let text = std::str::from_utf8(line).unwrap_or_default();
            utf8 += usize::from(text.chars().filter(|c| is_wide(*c)).count() >= ENOUGH);
        }
        (utf8 > 0).then(|| {
            format!(
                "{utf8} of the first {all} lines that are not ASCII look like UTF-8 and are misread"
            )
        })
    }

    /// A reader that decodes `source` to UTF-8.
    pub(super) fn transcode<R: Read>(self, source: R) -> Transcoder<R> {
        Transcoder {
            source,
            decoder: self.0.new_decoder_without_bom_handling(),
            raw: vec![0; 1 << 16],
            unread: 0..0,
            ended: false,
            text: vec![0; 1 << 17],
            ready: 0..0,
        }
    }
}

impl Encoding {
    /// Why `bytes` of the line `line`, which were decoded from this encoding, are not text.
    pub(super) fn refusal(self, bytes: &[u8], line: u64) -> BadRow {
        let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        if self == Encoding::UTF_8 {
            let byte = bytes.get(valid).copied().unwrap_or_default();
            let found = format!("the byte 0x{byte:02x} after {valid} bytes: invalid UTF-8");
            return BadRow {
                advice: "set the encoding (`encoding = gb18030`, `encoding = latin1` …), or convert the file (iconv -f LATIN1 -t UTF-8)",
                ..BadRow::new("invalid UTF-8", line, "text in UTF-8", found)
            };
        }
        let before = String::from_utf8_lossy(&bytes[..valid]);
        let found = format!(
            "invalid bytes after the first {} characters {:?}",
            before.chars().count(),
            excerpt(&before)
        );
        BadRow {
            advice: "set the right encoding (`encoding = NAME`)",
            ..BadRow::new("not in the encoding of the file", line, format!("text in {self}"), found)
        }
    }
}

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = encoding_rs::Encoding::for_label_no_replacement(name.as_bytes());
        known.map(Encoding).ok_or_else(|| {
            let expected = "an encoding such as utf-8, gb18030, gbk, big5, shift_jis, euc-jp, euc-kr, utf-16le, utf-16be, windows-1252 or latin1";
            Error::parameter("encoding", name, expected)
        })
    }
}

impl TryFrom<String> for Encoding {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

impl From<Encoding> for String {
    fn from(encoding: Encoding) -> String {
        encoding.to_string()
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.name().to_ascii_lowercase())
    }
}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoding({self})")
    }
}

/// Detects UTF-16 without a byte-order mark: spaces, digits and line ends have a zero byte, always on
/// the same side.
fn without_mark(head: &[u8]) -> Option<Encoding> {
    let zeros = |side: usize| head.iter().skip(side).step_by(2).filter(|&&byte| byte == 0).count();
    let units = head.len() / 2;
    let (even, odd) = (zeros(0), zeros(1));
    let (most, least, encoding) = if odd > even {
        (odd, even, encoding_rs::UTF_16LE)
    } else {
        (even, odd, encoding_rs::UTF_16BE)
    };
    let pairs = &head[..2 * units];
    let newline = if odd > even { [b'\n', 0] } else { [0, b'\n'] };
    let ends = pairs.chunks_exact(2).filter(|pair| **pair == newline).count();
    let ends_fit = 2 * ends >= pairs.iter().filter(|&&byte| byte == b'\n').count();
    let clear = most * 20 >= units && most >= 2 && least * 20 <= most && ends_fit;
    // The last character may be incomplete.
    let whole = |pairs: &[u8]| {
        encoding.decode_without_bom_handling_and_without_replacement(pairs).is_some()
    };
    (clear && (whole(pairs) || whole(&pairs[..pairs.len().saturating_sub(2)])))
        .then_some(Encoding(encoding))
}

/// Whether a text shifts between ASCII and Japanese as ISO-2022-JP does, in most of the lines
/// that shift at all.
fn is_iso_2022_jp(text: &[u8]) -> bool {
    if !text.is_ascii() || !text.contains(&0x1b) {
        return false;
    }
    let shifts = |line: &&[u8]| line.windows(3).any(|w| matches!(w, [0x1b, b'$', b'B' | b'@']));
    let (mut all, mut valid) = (0, 0);
    for line in text.split(|&byte| byte == b'\n').filter(shifts) {
        all += 1;
        let read =
            encoding_rs::ISO_2022_JP.decode_without_bom_handling_and_without_replacement(line);
        valid += usize::from(read.is_some());
    }
    all > 0 && 2 * valid >= all
}

/// Whether at least half of the lines that are not ASCII are UTF-8.
fn mostly_utf8(text: &[u8]) -> bool {
    let foreign = text.split(|&byte| byte == b'\n').filter(|line| !line.is_ascii());
    let (mut all, mut valid) = (0, 0);
    for line in foreign {
        all += 1;
        valid += usize::from(std::str::from_utf8(line).is_ok());
    }
    2 * valid >= all
}

/// Chinese, Japanese and Korean characters, and their punctuation.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{2000}'..='\u{206f}' | '\u{2e80}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Decodes one encoding to UTF-8.
pub(super) struct Transcoder<R> {
    source: R,
    decoder: Decoder,
    raw: Vec<u8>,
    unread: std::ops::Range<usize>,
    ended: bool,
    text: Vec<u8>,
    ready: std::ops::Range<usize>,
}

impl<R: Read> Transcoder<R> {
    /// Decodes the next bytes; `ready` is empty afterwards only at the end.
    fn advance(&mut self) -> io::Result<()> {
        let mut written = 0;
        while written == 0 {
            if self.unread.is_empty() && !self.ended {
                let n = self.source.read(&mut self.raw)?;
                self.unread = 0..n;
                self.ended = n == 0;
            }
            // Space for the mark of a broken sequence, and for a step of the decoder.
            while self.text.len() - written > 64 {
                let end = self.text.len() - 2;
                let (result, read, added) = self.decoder.decode_to_utf8_without_replacement(
                    &self.raw[self.unread.clone()],
                    &mut self.text[written..end],
                    self.ended,
                );
                self.unread.start += read;
                written += added;
                match result {
                    DecoderResult::InputEmpty | DecoderResult::OutputFull => break,
                    DecoderResult::Malformed(..) => {
                        self.text[written] = 0xff;
                        written += 1;
                        let taken = self.unread.start.checked_sub(1).map(|at| self.raw[at]);
                        let encoding = self.decoder.encoding();
                        if encoding == encoding_rs::ISO_2022_JP && read > 0 && taken == Some(b'\n')
                        {
                            // The line never shifted back to ASCII; the next one starts in ASCII.
                            self.text[written] = b'\n';
                            written += 1;
                            self.decoder = encoding.new_decoder_without_bom_handling();
                        }
                    }
                }
            }
            if self.ended && self.unread.is_empty() {
                break;
            }
        }
        self.ready = 0..written;
        Ok(())
    }
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() {
            if self.ended && self.unread.is_empty() {
                return Ok(0);
            }
            self.advance()?;
        }
        let n = buffer.len().min(self.ready.len());
        buffer[..n].copy_from_slice(&self.text[self.ready.start..self.ready.start + n]);
        self.ready.start += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(name: &str, bytes: &[u8]) -> Vec<u8> {
        /// Gives one byte at a time.
        struct Slow<'b>(&'b [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let n = self.0.len().min(1);
                self.0.read(&mut buffer[..n])
            }
        }
        let encoding: Encoding = name.parse().unwrap();
        let (mut whole, mut slow) = (Vec::new(), Vec::new());
        encoding.transcode(bytes).read_to_end(&mut whole).unwrap();
        encoding.transcode(Slow(bytes)).read_to_end(&mut slow).unwrap();
        assert_eq!(whole, slow);
        whole
    }

    fn encoded(name: &str, text: &str) -> Vec<u8> {
        if let Some(little) = ["utf-16be", "utf-16le"].iter().position(|wide| *wide == name) {
            let units = text.encode_utf16();
            return units
                .flat_map(|u| if little == 1 { u.to_le_bytes() } else { u.to_be_bytes() })
                .collect();
        }
        let encoding: Encoding = name.parse().unwrap();
        let (bytes, _, lossy) = encoding.0.encode(text);
        assert!(!lossy);
        bytes.into_owned()
    }

    const CHINESE: &str = "爱回家2014过新年在第几集\t《爱回家》阿飞被发现他是木偶哥\t1\r\n";
    const JAPANESE: &str = "東京の天気\t今日の東京の天気はどうですか\t2\n";
    const KOREAN: &str = "서울 날씨\t오늘 서울의 날씨는 어떻습니까\t1\n";

    #[test]
    fn every_encoding_becomes_utf8_however_it_is_cut() {
        for (name, text) in [
            ("gb18030", CHINESE),
            ("gbk", CHINESE),
            ("utf-16le", CHINESE),
            ("utf-16be", JAPANESE),
            ("shift_jis", JAPANESE),
            ("euc-jp", JAPANESE),
            ("iso-2022-jp", JAPANESE),
            ("euc-kr", KOREAN),
            ("windows-1252", "café – naïve\n"),
            ("latin1", "Grüße\n"),
            ("utf-8", CHINESE),
        ] {
            let text = text.repeat(300);
            assert_eq!(decoded(name, &encoded(name, &text)), text.as_bytes(), "{name}");
        }
    }

    #[test]
    fn what_an_encoding_does_not_know_is_marked_and_lines_stay() {
        let text = decoded("gb18030", b"a\x81\nb\xff\n\x81\x30\n\xb0\xae");
        assert_eq!(text, [&b"a\xff\nb\xff\n\xff0\n"[..], "爱".as_bytes()].concat());
        // The first line does not shift back to ASCII before its end.
        let text = decoded("iso-2022-jp", b"\x1b$B$\"\nb\n\x1b$B$$\x1b(B\n");
        assert_eq!(text, [&[0xe3, 0x81, 0x82, 0xff][..], "\nb\nい\n".as_bytes()].concat());
        assert_eq!(decoded("utf-16le", b"a\0\x00\xd8\n\0b\0x"), b"a\xff\nb\xff");
    }

    #[test]
    fn encodings_of_several_bytes_are_detected() {
        for (name, text) in [
            ("gb18030", CHINESE),
            ("shift_jis", JAPANESE),
            ("euc-jp", JAPANESE),
            ("iso-2022-jp", JAPANESE),
            ("euc-kr", KOREAN),
            ("utf-16le", CHINESE),
            ("utf-16be", "query\tdoc\n"),
        ] {
            let bytes = encoded(name, &text.repeat(20));
            let found = Encoding::detect(&bytes).map(|found| found.to_string());
            assert_eq!(found.as_deref(), Some(name));
        }
    }

    #[test]
    fn lines_of_utf8_among_others_are_doubtful() {
        let gb: Encoding = "gb18030".parse().unwrap();
        let pure = encoded("gb18030", CHINESE).repeat(20);
        assert_eq!(gb.doubt(&pure), None);
        // An even number of characters is valid in both.
        let line = "新年快乐新年快乐\t1\n".as_bytes();
        let mixed = [&pure, line, line].concat();
        assert_eq!(Encoding::detect(&mixed), Some(gb));
        let doubt = gb.doubt(&mixed).unwrap();
        assert!(doubt.starts_with("2 of the first 22 lines"), "{doubt}");
    }

    #[test]
    fn utf8_with_bad_lines_and_latin_text_are_not_taken_for_anything_else() {
        let mixed = [CHINESE.as_bytes(), &encoded("gb18030", CHINESE), b"x\xff\n"].concat();
        let latin = encoded("latin1", "Größe\tcafés\tél\u{e8}ves naïfs à Genève\n").repeat(50);
        for bytes in [
            &mixed,
            &latin,
            &CHINESE.as_bytes().to_vec(),
            &b"a\0b\n".repeat(9),
            &b"\x1b[1mbold\x1b(B $Bx\n".repeat(9),
            &Vec::new(),
        ] {
            assert_eq!(Encoding::detect(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn encodings_are_named_as_browsers_do() {
        assert_eq!("Latin1".parse::<Encoding>().unwrap().to_string(), "windows-1252");
        let error = "klingon".parse::<Encoding>().unwrap_err().to_string();
        assert!(
            error.starts_with("encoding = klingon: expected an encoding such as utf-8"),
            "{error}"
        );
        let json = serde_json::to_string(&"GBK".parse::<Encoding>().unwrap()).unwrap();
        assert_eq!(json, "\"gbk\"");
        assert!(serde_json::from_str::<Encoding>("\"nothing\"").is_err());
    }
}
