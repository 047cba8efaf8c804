//! Makes a program smaller while it stays interesting.

use super::{Drawn, Node};

/// The smallest program found that is still interesting: parts are taken away, or replaced by what is inside them.
pub fn shrink(drawn: Drawn, interesting: &mut dyn FnMut(&Drawn) -> bool) -> Drawn {
    let mut best = drawn;
    loop {
        let Some(smaller) = candidates(&best.nodes)
            .into_iter()
            .map(|nodes| Drawn { nodes })
            .find(|drawn| interesting(drawn))
        else {
            return best;
        };
        best = smaller;
    }
}

/// Smaller versions of `nodes`, by one change each.
fn candidates(nodes: &[Node]) -> Vec<Vec<Node>> {
    let mut found = Vec::new();
    for at in 0..nodes.len() {
        let replaced = |by: Vec<Node>| {
            let mut nodes = nodes.to_vec();
            nodes.splice(at..=at, by);
            nodes
        };
        found.push(replaced(Vec::new()));
        let Node::Blocks(blocks) = &nodes[at] else { continue };
        for (number, (head, body)) in blocks.iter().enumerate() {
            if !body.is_empty() {
                found.push(replaced(body.clone()));
            }
            if number > 0 {
                let mut blocks = blocks.clone();
                blocks.remove(number);
                found.push(replaced(vec![Node::Blocks(blocks)]));
            }
            for body in candidates(body) {
                let mut blocks = blocks.clone();
                blocks[number] = (head.clone(), body);
                found.push(replaced(vec![Node::Blocks(blocks)]));
            }
        }
    }
    found
}
