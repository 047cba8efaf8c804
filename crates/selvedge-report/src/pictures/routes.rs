//! How edges run in a drawing with lanes, as on the page: between two rows to the side of the other lane, and along it to the other
//! dot. So they cross no text, and two that run beside the same lane at the same height lie on tracks of their own.

/// How far beside the dots of a lane the first track is, and how far the others are from it.
const BESIDE: i64 = 15;
const APART: i64 = 4;
const TRACKS: usize = 3;
/// The radius of a corner.
const CORNER: i64 = 5;
/// Of several edges that end at the same dot, the others meet it so far above or below the first.
const MEETS: i64 = 5;

/// Where an edge runs.
#[derive(Clone, Copy)]
pub(super) struct Route {
    track: i64,
    meets: i64,
}

/// Returns where edges run, each from a row to a row, whose lanes are `lane_of`.
pub(super) fn routes(edges: &[(usize, usize)], lane_of: &[usize]) -> Vec<Route> {
    let mut routes = vec![Route { track: 0, meets: 0 }; edges.len()];
    let mut order: Vec<usize> = (0..edges.len()).collect();
    let span = |&(from, to): &(usize, usize)| (from.min(to), from.max(to));
    order.sort_by_key(|&index| span(&edges[index]));
    let lanes = lane_of.iter().max().map_or(0, |most| most + 1);
    // Up to which row each track beside each lane is taken.
    let mut taken: Vec<[Option<usize>; TRACKS]> = vec![[None; TRACKS]; lanes];
    let mut met = vec![false; lane_of.len()];
    for index in order {
        let (_, end) = edges[index];
        let (top, bottom) = span(&edges[index]);
        let tracks = &mut taken[lane_of[end]];
        let free = tracks.iter().position(|last| last.is_none_or(|last| last < top));
        let least = (0..TRACKS).min_by_key(|&track| tracks[track]);
        let track = free.or(least).unwrap_or_default();
        tracks[track] = tracks[track].max(Some(bottom));
        let meets = match end == top {
            _ if !std::mem::replace(&mut met[end], true) => 0,
            // From the side that it comes from.
            true => MEETS,
            false => -MEETS,
        };
        routes[index] = Route { track: track as i64, meets };
    }
    routes
}

/// Returns the path of an edge between the dots at these places.
pub(super) fn path((x1, y1): (usize, usize), (x2, y2): (usize, usize), route: Route) -> String {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(|at| at as i64);
    let (down, y2) = (if y2 >= y1 { 1 } else { -1 }, y2 + route.meets);
    let (side, turn) = (x2 - BESIDE - APART * route.track, down * CORNER);
    let (leaves, aside) = (y1 + down * 6, (side - x1).signum() * CORNER);
    let between = leaves + turn;
    format!(
        "M{x1} {leaves} Q{x1} {between},{} {between} H{} Q{side} {between},{side} {} V{} Q{side} {y2},{} {y2} H{}",
        x1 + aside,
        side - aside,
        between + turn,
        y2 - turn,
        side + CORNER,
        x2 - 7,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_beside_the_same_lane_have_tracks_of_their_own() {
        // Both run beside lane 1 at row 2; the third begins below them.
        let edges = [(0, 3), (1, 4), (5, 6)];
        let found = routes(&edges, &[0, 0, 1, 1, 1, 0, 1]);
        assert_eq!(found.iter().map(|route| route.track).collect::<Vec<_>>(), [0, 1, 0]);
        assert!(found.iter().all(|route| route.meets == 0));
    }

    #[test]
    fn edges_to_the_same_dot_meet_it_at_different_heights() {
        let found = routes(&[(0, 2), (1, 2), (3, 2)], &[0, 0, 1, 0]);
        assert_eq!(found.iter().map(|route| route.meets).collect::<Vec<_>>(), [0, -5, 5]);
    }

    /// Above the row of the dot that it leaves, and in from the left.
    #[test]
    fn an_edge_that_leads_back_goes_up() {
        let path = path((300, 200), (100, 40), Route { track: 0, meets: 0 });
        assert_eq!(path, "M300 194 Q300 189,295 189 H90 Q85 189,85 184 V45 Q85 40,90 40 H93");
    }
}
