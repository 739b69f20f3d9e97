//! What tests of several modules hold paths against.

/// How many links lie between all of so many switches, found by going over all links again and again;
/// more than there are switches where none lead there.
pub(crate) fn distances(switches: usize, links: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut distances = vec![vec![switches * switches; switches]; switches];
    for (from, row) in distances.iter_mut().enumerate() {
        row[from] = 0;
        for _ in 0..switches {
            for &(a, b) in links {
                let nearest = row[a].min(row[b]) + 1;
                row[a] = row[a].min(nearest);
                row[b] = row[b].min(nearest);
            }
        }
    }
    distances
}
