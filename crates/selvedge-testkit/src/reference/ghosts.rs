//! Which ghosts no property reads: their updates are left out.

use std::collections::BTreeSet;

use super::lexer::{Kind, Token};

/// Finds these ghosts in the text of a program. A statement that starts with the name of a ghost updates it; all other statements
/// with a ghost are properties.
pub(super) fn unread(tokens: &[Token]) -> BTreeSet<String> {
    let word = |token: &Token| match &token.kind {
        Kind::Word(word) => Some(word.clone()),
        _ => None,
    };
    let declared = tokens.windows(2).filter(|two| word(&two[0]).as_deref() == Some("ghost"));
    let ghosts: BTreeSet<String> = declared.filter_map(|two| word(&two[1])).collect();
    // An update that can fail is a property of its own.
    let can_fail = |statement: &[Token]| {
        statement.windows(3).any(|three| {
            let number = |token: &Token| matches!(token.kind, Kind::Number(_));
            match three[1].kind {
                Kind::Sign("-") => !(three[0].kind == Kind::Sign("=") && number(&three[2])),
                Kind::Sign("[") => !number(&three[2]),
                Kind::Sign(sign) => {
                    matches!(sign, "+" | "*" | "/" | "%" | "<<" | ">>" | "(")
                        || matches!(sign, "+=" | "-=" | "*=" | "<<=" | ">>=")
                }
                _ => false,
            }
        })
    };
    let (mut read, mut flows) = (BTreeSet::new(), Vec::new());
    let is_border = |token: &Token| matches!(token.kind, Kind::Sign(";" | "{" | "}"));
    for statement in tokens.split(is_border) {
        let words: Vec<Option<String>> = statement.iter().map(word).collect();
        let named = words.iter().flatten().filter(|word| ghosts.contains(*word)).cloned();
        match words.first() {
            Some(Some(first)) if first == "ghost" => {}
            Some(Some(first)) if ghosts.contains(first) => {
                if can_fail(statement) {
                    read.insert(first.clone());
                }
                flows.extend(named.skip(1).map(|from| (from, first.clone())));
            }
            _ => read.extend(named),
        }
    }
    loop {
        let before = read.len();
        for (from, to) in &flows {
            if read.contains(to) {
                read.insert(from.clone());
            }
        }
        if read.len() == before {
            return ghosts.difference(&read).cloned().collect();
        }
    }
}
