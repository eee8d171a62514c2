//! Where the rectangles of a treemap lie: areas in proportion to weights, as near to squares as rows allow.

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rect {
    /// Its left side.
    pub x: f64,
    /// Its top.
    pub y: f64,
    /// Its width.
    pub w: f64,
    /// Its height.
    pub h: f64,
}

impl Rect {
    /// The rectangle less `by` on each side; never less than nothing.
    pub fn inset(self, by: f64) -> Self {
        let by = by.min(self.w / 2.0).min(self.h / 2.0);
        Self { x: self.x + by, y: self.y + by, w: self.w - 2.0 * by, h: self.h - 2.0 * by }
    }

    /// The strip of height `height` at the top, and what is below it.
    pub fn split_top(self, height: f64) -> (Self, Self) {
        let height = height.min(self.h);
        (Self { h: height, ..self }, Self { y: self.y + height, h: self.h - height, ..self })
    }

    /// The first `part` (0 to 1) along the longer side, and the rest.
    pub fn split_long(self, part: f64) -> (Self, Self) {
        if self.w >= self.h {
            let w = self.w * part;
            (Self { w, ..self }, Self { x: self.x + w, w: self.w - w, ..self })
        } else {
            let h = self.h * part;
            (Self { h, ..self }, Self { y: self.y + h, h: self.h - h, ..self })
        }
    }
}

/// One rectangle for each weight, in the order given, which should be heaviest first. A weight of 0 gets
/// an empty rectangle.
pub fn layout(weights: &[u64], frame: Rect) -> Vec<Rect> {
    let sum: f64 = weights.iter().map(|&weight| weight as f64).sum();
    let mut out = Vec::with_capacity(weights.len());
    if sum <= 0.0 || frame.w <= 0.0 || frame.h <= 0.0 {
        out.resize(weights.len(), Rect { w: 0.0, h: 0.0, ..frame });
        return out;
    }
    let scale = frame.w * frame.h / sum;
    let areas: Vec<f64> = weights.iter().map(|&weight| weight as f64 * scale).collect();
    let mut free = frame;
    let mut rest = areas.as_slice();
    while !rest.is_empty() {
        let side = free.w.min(free.h);
        let mut taken = 1;
        while taken < rest.len() && worst(&rest[..=taken], side) <= worst(&rest[..taken], side) {
            taken += 1;
        }
        let (row, left) = rest.split_at(taken);
        free = place(row, free, &mut out);
        rest = left;
    }
    out
}

/// The worst ratio of sides in a row of these areas along a side of that length.
fn worst(row: &[f64], side: f64) -> f64 {
    let sum: f64 = row.iter().sum();
    let (largest, smallest) =
        row.iter().fold((0.0_f64, f64::MAX), |(l, s), &area| (l.max(area), s.min(area)));
    if sum <= 0.0 || smallest <= 0.0 || side <= 0.0 {
        return f64::MAX;
    }
    (side * side * largest / (sum * sum)).max(sum * sum / (side * side * smallest))
}

/// Lays a row along the shorter side of what is free; returns what is then free.
fn place(row: &[f64], free: Rect, out: &mut Vec<Rect>) -> Rect {
    let sum: f64 = row.iter().sum();
    let upright = free.w >= free.h;
    let side = if upright { free.h } else { free.w };
    let thick = if side > 0.0 { sum / side } else { 0.0 };
    let mut at = 0.0;
    for &area in row {
        let long = if thick > 0.0 { area / thick } else { 0.0 };
        out.push(if upright {
            Rect { x: free.x, y: free.y + at, w: thick, h: long }
        } else {
            Rect { x: free.x + at, y: free.y, w: long, h: thick }
        });
        at += long;
    }
    if upright {
        Rect { x: free.x + thick, w: (free.w - thick).max(0.0), ..free }
    } else {
        Rect { y: free.y + thick, h: (free.h - thick).max(0.0), ..free }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Rect = Rect { x: 10.0, y: 20.0, w: 300.0, h: 200.0 };

    #[test]
    fn areas_follow_weights_inside_the_frame_without_overlap() {
        let weights = [500, 300, 120, 80, 80, 40, 12, 3, 1, 1];
        let rects = layout(&weights, FRAME);
        let sum: u64 = weights.iter().sum();
        for (rect, &weight) in rects.iter().zip(&weights) {
            let expected = FRAME.w * FRAME.h * weight as f64 / sum as f64;
            assert!((rect.w * rect.h - expected).abs() < 0.01, "{weight}: {rect:?}");
            assert!(rect.x >= FRAME.x - 0.01 && rect.x + rect.w <= FRAME.x + FRAME.w + 0.01);
            assert!(rect.y >= FRAME.y - 0.01 && rect.y + rect.h <= FRAME.y + FRAME.h + 0.01);
        }
        for (at, a) in rects.iter().enumerate() {
            for b in &rects[at + 1..] {
                let wide = (a.x + a.w).min(b.x + b.w) - a.x.max(b.x);
                let high = (a.y + a.h).min(b.y + b.h) - a.y.max(b.y);
                assert!(wide < 0.01 || high < 0.01, "{a:?} overlaps {b:?}");
            }
        }
    }

    #[test]
    fn even_weights_give_squarish_rectangles() {
        for rect in layout(&[1; 24], FRAME) {
            let ratio = rect.w / rect.h;
            assert!((0.4..=2.5).contains(&ratio), "{rect:?}");
        }
    }

    #[test]
    fn nothing_takes_no_room() {
        assert!(layout(&[], FRAME).is_empty());
        assert!(layout(&[0, 0], FRAME).iter().all(|rect| rect.w == 0.0));
        let rects = layout(&[5, 0], FRAME);
        assert!((rects[0].w * rects[0].h - FRAME.w * FRAME.h).abs() < 0.01);
        assert!(rects[1].w * rects[1].h < 0.01);
        assert_eq!(layout(&[1], Rect { w: 0.0, ..FRAME })[0].w, 0.0);
    }

    #[test]
    fn rectangles_split_without_loss() {
        let (top, below) = FRAME.split_top(50.0);
        assert_eq!((top.h + below.h, below.y), (200.0, 70.0));
        let (first, rest) = FRAME.split_long(0.25);
        assert_eq!((first.w, rest.x, rest.w), (75.0, 85.0, 225.0));
        assert_eq!(FRAME.inset(500.0).h, 0.0);
    }
}
