//! A reference for paths in the tests of several modules.

/// The number of links between each two of `switches` switches, by relaxing all links again and again;
/// more than there are switches where one is unreachable.
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
