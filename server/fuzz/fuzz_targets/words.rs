//! Names and what is said, with any list of words.
#![no_main]

use libfuzzer_sys::fuzz_target;
use accounts::names::{self, NameRule};
use tick::talk::filter::{Speech, TalkFilter, Verdict, WordList};
use shared::Text;

fuzz_target!(|texts: (&str, &str)| {
    let (words, said) = texts;
    for rule in [NameRule::Forms, NameRule::Confusables] {
        let _ = rule.key(said);
    }
    if let Ok(name) = names::wished(said) {
        // What is in its usual form stays so.
        assert_eq!(names::wished(&name).as_ref(), Ok(&name));
        assert_eq!(names::proven(&name).as_ref(), Ok(&name));
        assert_eq!(NameRule::Forms.key(&name), NameRule::Forms.key(said));
    }
    let (Ok(list), Ok(text)) = (WordList::new(words), Text::new(said)) else {
        return;
    };
    if let Verdict::Replace(masked) = list.judge(Speech::Say, None, &text) {
        assert!(masked.len() <= text.len() && masked.contains('*'));
    }
});
