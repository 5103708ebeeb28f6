//! The words of a URL.
//!
//! Kept are the labels of the host, the path and the values of the query string. Dropped is what
//! does not describe the page: scheme, user, port, `www`, the public suffix of the host (`com`,
//! `co.uk`), known file extensions, names of parameters and the fragment. Text with white space and
//! without a scheme is not a URL and kept whole; any other text is read as a URL.
//! Escaped bytes that are not UTF-8 become replacement characters, which separate words.

use percent_encoding::percent_decode_str;

/// Second-level labels that belong to the public suffix before a country code.
const SECOND_LEVEL: &[&str] = &["ac", "co", "com", "edu", "go", "gov", "ne", "net", "or", "org"];

const FILE_ENDINGS: &[&str] = &[
    "7z", "action", "asp", "aspx", "atom", "avi", "bmp", "bz2", "cfm", "cgi", "css", "csv", "do",
    "doc", "docx", "epub", "exe", "gif", "gz", "htm", "html", "ico", "jpeg", "jpg", "js", "json",
    "jsp", "jspx", "md", "mov", "mp3", "mp4", "odt", "pdf", "php", "phtml", "pl", "png", "ppt",
    "pptx", "ps", "rar", "rss", "rtf", "shtml", "svg", "tar", "tgz", "tif", "tiff", "txt", "wav",
    "webp", "wmv", "xhtml", "xls", "xlsx", "xml", "zip",
];

/// The words of `url` as running text, still to be analysed.
pub(super) fn words(url: &str) -> String {
    let url = url.trim();
    if url.contains(char::is_whitespace) && !without_scheme(url).0 {
        return percent_decode_str(url).decode_utf8_lossy().into_owned();
    }
    let url = url.split('#').next().unwrap_or_default();
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let (_, place) = without_scheme(place);
    let (host, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let mut text = String::with_capacity(url.len());
    push_host(host, &mut text);
    for segment in path.split('/') {
        let segment = percent_decode_str(segment).decode_utf8_lossy();
        text.push_str(without_file_endings(&segment));
        text.push(' ');
    }
    for parameter in query.split(['&', ';']) {
        let (_, value) = parameter.split_once('=').unwrap_or(("", parameter));
        text.push_str(&percent_decode_str(value).decode_utf8_lossy().replace('+', " "));
        text.push(' ');
    }
    text
}

/// Whether there was a scheme or a leading `//`, and the rest without it.
fn without_scheme(url: &str) -> (bool, &str) {
    match url.split_once("//") {
        Some((scheme, rest)) if scheme.is_empty() || is_scheme(scheme) => (true, rest),
        _ => (false, url),
    }
}

fn is_scheme(text: &str) -> bool {
    text.strip_suffix(':').is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

fn push_host(host: &str, text: &mut String) {
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let host = percent_decode_str(host).decode_utf8_lossy();
    let host = host.trim_end_matches('.');
    if host.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        // An IPv4 address stays whole.
        text.push_str(host);
        text.push(' ');
        return;
    }
    let mut labels: Vec<&str> = host.split('.').filter(|label| !label.is_empty()).collect();
    if labels.len() > 1 && is_www(labels[0]) {
        labels.remove(0);
    }
    if labels.len() > 1 {
        let country = labels.pop().is_some_and(|label| label.chars().count() == 2);
        if country && labels.len() > 1 {
            labels.pop_if(|label| is_one_of(label, SECOND_LEVEL));
        }
    }
    for label in labels {
        text.push_str(label);
        text.push(' ');
    }
}

fn is_www(label: &str) -> bool {
    label.get(..3).is_some_and(|www| www.eq_ignore_ascii_case("www"))
        && label[3..].bytes().all(|b| b.is_ascii_digit())
}

fn without_file_endings(segment: &str) -> &str {
    let mut name = segment;
    while let Some((before, ending)) = name.rsplit_once('.') {
        if !is_one_of(ending, FILE_ENDINGS) || before.is_empty() {
            break;
        }
        name = before;
    }
    name
}

fn is_one_of(label: &str, list: &[&str]) -> bool {
    list.iter().any(|known| label.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(url: &str) -> Vec<String> {
        words(url).split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_says_nothing_about_the_page_is_dropped() {
        assert_eq!(split("https://www.example.com/"), ["example"]);
        assert_eq!(split("HTTP://WWW2.Example.CO.UK:8080/a/b.html#top"), ["Example", "a", "b"]);
        assert_eq!(
            split("http://joe:pw@en.wikipedia.org/wiki/Sun"),
            ["en", "wikipedia", "wiki", "Sun"]
        );
        assert_eq!(split("example.com/paper.tar.gz"), ["example", "paper"]);
        assert_eq!(split("//cdn.example.de/x.JPG"), ["cdn", "example", "x"]);
        assert_eq!(split("https://a.de/?q=how+far&page=2"), ["a", "how", "far", "2"]);
    }

    #[test]
    fn what_may_be_a_word_is_kept() {
        assert_eq!(split("http://www.com/"), ["com"]);
        assert_eq!(split("http://localhost:8080/x"), ["localhost", "x"]);
        assert_eq!(split("http://192.168.0.1/cam"), ["192.168.0.1", "cam"]);
        assert_eq!(split("http://co.uk/"), ["co"]);
        assert_eq!(split("http://x.org/wiki/Mr.Bean"), ["x", "wiki", "Mr.Bean"]);
        assert_eq!(split("http://x.org/.html"), ["x", ".html"]);
        assert_eq!(split("/just/a/path.php"), ["just", "a", "path"]);
    }

    #[test]
    fn escapes_are_decoded_and_broken_ones_left() {
        assert_eq!(split("http://x.cn/%E5%8C%97%E4%BA%AC"), ["x", "北京"]);
        assert_eq!(split("http://x.org/a%20b%2Fc"), ["x", "a", "b/c"]);
        assert_eq!(split("http://x.org/100%"), ["x", "100%"]);
        assert_eq!(split("http://x.org/%zz%4"), ["x", "%zz%4"]);
        assert_eq!(split("http://x.org/a%FFb"), ["x", "a\u{fffd}b"]);
    }

    #[test]
    fn what_is_no_url_is_read_as_text() {
        assert_eq!(split("not a url at all."), ["not", "a", "url", "at", "all."]);
        assert_eq!(split("C# or F#?"), ["C#", "or", "F#?"]);
        assert_eq!(split(""), [""; 0]);
        assert_eq!(split("?#://"), [""; 0]);
        assert_eq!(split("http://[::1]:80/é"), ["[::1]", "é"]);
    }
}
