//! The analyser by known answers and by what must hold for any text.

use proptest::prelude::*;

use super::*;

fn analyzer(toml: &str) -> Analyzer {
    Analyzer::new(&toml::from_str(toml).unwrap()).unwrap()
}

fn terms(toml: &str, text: &str) -> Vec<String> {
    analyzer(toml).terms(text)
}

fn english(text: &str) -> Vec<String> {
    terms("", text)
}

fn url(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    analyzer("").url(text, &mut |term| terms.push(term.to_owned()));
    terms
}

const NOTHING: [&str; 0] = [];

#[test]
fn english_questions_are_reduced_to_what_they_ask_for() {
    assert_eq!(english("How far is the Sun?"), ["far", "sun"]);
    assert_eq!(english("The Sun's light; don't look!"), ["sun", "light", "look"]);
    assert_eq!(english("The Sun’s light; don’t look!"), ["sun", "light", "look"]);
    assert_eq!(english("What's matching? Matched matches."), ["match", "match", "match"]);
    assert_eq!(
        english("state-of-the-art COVID-19 vaccines"),
        ["state", "art", "covid", "19", "vaccin"]
    );
    assert_eq!(english("pi is 3.14"), ["pi", "3.14"]);
    assert_eq!(english("to be or not to be"), NOTHING);
    assert_eq!(english(" \n…—!? ☃"), NOTHING);
}

#[test]
fn stems_are_those_of_the_published_english_vocabulary() {
    // Pairs of the sample vocabulary that is published with the Snowball English stemmer.
    for (word, stem) in [
        ("consigned", "consign"),
        ("consignment", "consign"),
        ("consistency", "consist"),
        ("knackeries", "knackeri"),
        ("knightly", "knight"),
        ("generously", "generous"),
        ("communism", "communism"),
        ("conditional", "condit"),
        ("skies", "sky"),
        ("dying", "die"),
        ("news", "news"),
        ("happy", "happi"),
        ("running", "run"),
    ] {
        assert_eq!(english(word), [stem], "{word}");
    }
}

#[test]
fn umlauts_and_sharp_s_are_german() {
    let german = |text| terms("language = 'de'", text);
    assert_eq!(german("Die Häuser an der Straße"), ["haus", "strass"]);
    assert_eq!(german("STRASSE Straße"), ["strass", "strass"]);
    assert_eq!(german("U\u{308}ber Größen"), ["gross"]);
    assert_eq!(german("daß dass für"), NOTHING);
}

#[test]
fn chinese_is_segmented_in_every_width_and_loses_its_stop_words() {
    assert_eq!(english("我来到北京清华大学"), ["来到", "北京", "清华大学"]);
    assert_eq!(terms("language = 'zh'", "北京的天气怎么样？"), ["北京", "天气"]);
    assert_eq!(english("ＡＢＣ　手机，１２３"), ["abc", "手机", "123"]);
    assert_eq!(terms("language = 'none'", "北京的天气"), ["北京", "的", "天气"]);
    assert_eq!(english("。，！？「」"), NOTHING);
    // Words in Latin letters are left alone under `zh`.
    assert_eq!(terms("language = 'zh'", "the running 电影"), ["the", "running", "电影"]);
}

#[test]
fn every_script_yields_terms() {
    assert_eq!(english("東京タワーはどこ"), ["東京", "タワー", "はど", "どこ"]);
    assert_eq!(english("ｶﾀｶﾅ"), ["カタカナ"]);
    assert_eq!(english("서울 날씨"), ["서울", "날씨"]);
    assert_eq!(english("สวัสดี").first().map(String::as_str), Some("สวั"));
    assert_eq!(english("हिन्दी में खोज"), ["हिन्दी", "में", "खोज"]);
    assert_eq!(terms("language = 'ar'", "الكتب في المكتبة"), ["كتب", "مكتب"]);
    assert_eq!(terms("language = 'ru'", "Как далеко до Солнца? Ещё"), ["далек", "солнц"]);
    assert_eq!(terms("language = 'el'", "Η θάλασσα και οι ΘΑΛΑΣΣΕΣ"), ["θαλασσ", "θαλασσ"]);
    for text in ["ខ្ញុំ", "မြန်မာ", "ສະບາຍ", "ქართული", "עברית", "தமிழ்", "ᠮᠣᠩᠭᠣᠯ"]
    {
        assert!(!english(text).is_empty(), "{text}");
    }
}

#[test]
fn languages_differ_in_apostrophes_and_letters() {
    assert_eq!(terms("language = 'fr'", "L’avion d'aujourd'hui"), ["avion", "aujourd", "hui"]);
    assert_eq!(terms("language = 'it'", "l'acqua dell'isola"), ["acqua", "isol"]);
    assert_eq!(terms("language = 'tr'", "İstanbul'da IŞIK"), ["istanbul", "ışık"]);
    assert_eq!(terms("language = 'hu'", "az első ház előtt"), ["ház"]);
    assert_eq!(terms("language = 'ro'", "științele"), terms("language = 'ro'", "ştiinţele"));
}

#[test]
fn without_a_language_words_stay_as_they_are() {
    let none = "language = 'none'";
    assert_eq!(terms(none, "The Running Sun's"), ["the", "running", "sun's"]);
    assert_eq!(terms("stop_words = false", "the suns"), ["the", "sun"]);
    assert_eq!(terms("stem = false", "the suns"), ["suns"]);
    let extra = "language = 'none'\nextra_stop_words = ['SUN', '手机']";
    assert_eq!(terms(extra, "the Sun 手机 moon"), ["the", "moon"]);
}

#[test]
fn accents_can_be_stripped_before_stemming() {
    assert_eq!(terms("strip_accents = true", "Café cafe"), ["cafe", "cafe"]);
    assert_ne!(english("Café"), english("cafe"));
    // The stop words lose theirs too.
    assert_eq!(terms("language = 'es'\nstrip_accents = true", "también"), NOTHING);
}

#[test]
fn word_ngrams_follow_the_word_they_end_with() {
    assert_eq!(
        terms("word_ngrams = 2", "New York City"),
        ["new", "york", "new york", "citi", "york citi"]
    );
    assert_eq!(
        terms("word_ngrams = 3", "new york 北京 city"),
        [
            "new",
            "york",
            "new york",
            "北京",
            "york 北京",
            "new york 北京",
            "citi",
            "北京 citi",
            "york 北京 citi",
        ]
    );
    assert_eq!(terms("word_ngrams = 2", "Bank of America"), ["bank", "america", "bank america"]);
    assert_eq!(terms("word_ngrams = 5", "sun"), ["sun"]);
}

#[test]
fn char_ngrams_are_marked_and_come_from_the_unstemmed_word() {
    let trigrams = "char_ngrams = { min = 3, max = 3 }";
    assert_eq!(terms(trigrams, "suns"), ["sun", "~<su", "~sun", "~uns", "~ns>"]);
    assert_eq!(
        terms("char_ngrams = { min = 2, max = 9 }", "ab"),
        ["ab", "~<a", "~ab", "~b>", "~<ab", "~ab>"]
    );
    assert_eq!(
        terms(trigrams, "x 中 größ"),
        ["x", "中", "gröss", "~<gr", "~grö", "~rös", "~öss", "~ss>"]
    );
    // A misspelling shares no word with what was meant, but most of its n-grams.
    let (meant, typed) = (terms(trigrams, "cholesterol"), terms(trigrams, "cholestrol"));
    let shared = typed.iter().filter(|term| meant.contains(term)).count();
    assert!(!typed.contains(&meant[0]) && shared >= 7, "{meant:?} {typed:?}");
    assert_eq!(english("~sun <sun> ~<su"), ["sun", "sun", "su"]);
}

#[test]
fn urls_yield_the_words_of_host_and_path() {
    assert_eq!(url("https://www.nasa.gov/how-far_is%20the-Sun.html"), ["nasa", "far", "sun"]);
    assert_eq!(
        url("http://en.wikipedia.org/wiki/Solar_System?action=edit#History"),
        ["en", "wikipedia", "wiki", "solar", "system", "edit"]
    );
    assert_eq!(
        url("http://zh.wikipedia.org/wiki/%E5%A4%AA%E9%98%B3"),
        ["zh", "wikipedia", "wiki", "太阳"]
    );
    assert_eq!(url("news.bbc.co.uk/2/hi/science.stm"), ["news", "bbc", "2", "hi", "scienc", "stm"]);
    assert_eq!(url("http://192.168.0.1:80/"), ["192.168.0.1"]);
    assert_eq!(url("what the %% is [this"), NOTHING);
    assert_eq!(url("running dogs."), ["run", "dog"]);
    assert_eq!(url(""), NOTHING);
}

#[test]
fn endless_words_are_cut_quickly() {
    let blob = "y".repeat(1 << 20);
    for language in Language::ALL {
        let found = terms(&format!("language = '{language}'"), &blob);
        assert_eq!(found, ["y".repeat(MAX_WORD_CHARS)], "{language}");
    }
}

#[test]
fn stop_word_lists_are_made_of_words() {
    for word in stop_words::lookup("zh").unwrap() {
        let mut folded = String::new();
        Folding::new(Language::Zh, false).fold(word, &mut folded);
        assert_eq!(folded, *word);
    }
    let analyzer = analyzer("language = 'el'");
    assert_eq!(analyzer.terms("αυτό δεν είναι για τους"), NOTHING);
}

#[test]
fn an_analyzer_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&analyzer(""));
}

fn any_params() -> impl Strategy<Value = AnalyzerParams> {
    let grams = (2..6usize, 0..4usize).prop_map(|(min, more)| CharNgrams { min, max: min + more });
    (
        prop::sample::select(&Language::ALL[..]),
        any::<[bool; 3]>(),
        1..=4usize,
        prop::option::of(grams),
    )
        .prop_map(|(language, [stop_words, stem, strip_accents], word_ngrams, char_ngrams)| {
            AnalyzerParams {
                language,
                stop_words,
                stem,
                strip_accents,
                word_ngrams,
                char_ngrams,
                ..AnalyzerParams::default()
            }
        })
}

const ANY_TEXT: &str = ".*|\\PC*|[a-z'.,_ ]*|[\\p{Han}ぁ-んก-๙ A-z\u{300}-\u{345}]*|[ÀèÎõüßşığα-ω\
    \u{620}-\u{660}а-яஅ-்']*";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_text_yields_clean_terms_twice_the_same(params in any_params(), text in ANY_TEXT) {
        let analyzer = Analyzer::new(&params).unwrap();
        let terms = analyzer.terms(&text);
        for term in &terms {
            let words: Vec<&str> = term.split(' ').collect();
            prop_assert!(words.len() <= params.word_ngrams, "{term:?}");
            for word in words {
                prop_assert!(!word.is_empty() && !word.contains(char::is_whitespace), "{term:?}");
                let gram = params.char_ngrams.is_some() && term.starts_with('~');
                prop_assert!(gram || !word.contains(['~', '<', '>']), "{term:?}");
            }
        }
        prop_assert_eq!(Analyzer::new(&params).unwrap().terms(&text), terms);
    }

    #[test]
    fn any_url_is_survived(params in any_params(), url in "(http://)?.*|[a-z%/.:@?#=& 0-9]*") {
        let analyzer = Analyzer::new(&params).unwrap();
        analyzer.url(&url, &mut |term| assert!(!term.is_empty()));
    }
}
