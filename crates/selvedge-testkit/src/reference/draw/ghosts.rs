//! Draws updates of ghosts, and assertions over them.

use super::Node;
use super::artist::{Artist, Level};

impl Artist {
    pub(super) fn ghost_statement(&mut self, nodes: &mut Vec<Node>) {
        if self.random.one_in(4) {
            let line = self.about_ghosts();
            return self.line(nodes, line);
        }
        let outer = std::mem::replace(&mut self.level, Level::Local);
        let line = match self.random.below(8) {
            0 | 1 => format!("gh = {};", self.int(1)),
            2 => format!("gh {} {};", self.random.pick(&["+=", "*=", "^="]), self.int_leaf()),
            3 => "gc += 1;".to_owned(),
            4 => "gc -= 1;".to_owned(),
            5 => format!("ga[{}] = gh + gc;", self.int_leaf()),
            6 => format!("ga[1] = max(ga[0], {});", self.int_leaf()),
            _ => format!("gb = {} && !gb;", self.bool(1)),
        };
        self.level = outer;
        self.line(nodes, line);
    }

    /// An assertion over ghosts.
    fn about_ghosts(&mut self) -> String {
        let number = self.random.below(3);
        match self.random.below(4) {
            0 => format!("assert gh != {number};"),
            1 => format!("assert gc <= {number} || gb;"),
            2 => "assert gb || gh >= x;".to_owned(),
            _ => format!("assert ga[{}] <= {number};", self.random.below(2)),
        }
    }

    /// Reads all ghosts, so that none is left out.
    pub(super) fn all_ghosts(&mut self) -> Node {
        let number = self.random.below(3);
        Node::Line(format!("assert gb || gh + gc != ga[0] + ga[1] + {number};"))
    }
}
