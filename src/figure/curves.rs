//! A value against a count, in several lines: such as the output against the number of heads switched off.

use plotters::element::DashedPathElement;
use plotters::prelude::*;

use super::fonts::drawable;
use super::{FigureError, Svg, printable};

/// One line: its value at 0, 1, 2 …
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub name: String,
    pub values: Vec<f32>,
}

/// A figure of several lines, 10 × 6 inches. A unit of its sizes is a hundredth of an inch.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvesFigure {
    pub title: String,
    pub across: String,
    pub upwards: String,
    pub lines: Vec<Line>,
    /// A count that is marked by an upright line, with what it means.
    pub mark: Option<(usize, String)>,
}

/// Wong's colours for colour-blind readers (Nature Methods 2011), and dashes, so that colour alone tells nothing.
const COLORS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];
const DASHES: [(i32, i32); 4] = [(1000, 0), (10, 5), (3, 4), (14, 9)];
const SIZE: (u32, u32) = (1000, 600);

impl CurvesFigure {
    /// The pruning curve of a model: a target, mean over so many texts, against the number of heads switched off. The
    /// mark is the stop rule, “so many heads are spared within so many percent”.
    pub fn pruning(
        model: &str,
        target: String,
        texts: usize,
        lines: Vec<Line>,
        (spared, percent): (usize, f32),
    ) -> Self {
        let over = if texts == 1 { "one text".to_owned() } else { format!("mean over {texts} texts") };
        Self {
            title: format!("{model}: heads switched off, {over}"),
            across: "Heads switched off".to_owned(),
            upwards: target,
            lines,
            mark: Some((spared, format!("{spared} heads: within {percent} % of the plain model"))),
        }
    }

    /// Draws the figure.
    ///
    /// # Errors
    /// [`FigureError::Draw`] if there is no line with two values.
    pub fn draw(&self) -> Result<Svg, FigureError> {
        let count = self.lines.iter().map(|line| line.values.len()).max().unwrap_or(0);
        let finite = || self.lines.iter().flat_map(|line| &line.values).copied().filter(|value| value.is_finite());
        let (least, most) = (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
        if count < 2 || least > most {
            return Err(FigureError::Draw("there is no line to draw".into()));
        }
        let room = ((most - least) * 0.05).max(1e-3);
        let mut document = String::new();
        {
            let root = SVGBackend::with_string(&mut document, SIZE).into_drawing_area();
            self.draw_on(&root, count - 1, (least - room)..(most + room))
                .map_err(|error| FigureError::Draw(error.to_string()))?;
        }
        Ok(Svg(document))
    }

    fn draw_on(
        &self,
        root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
        last: usize,
        values: std::ops::Range<f32>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let text = |text: &str| drawable(&printable(text));
        root.fill(&WHITE)?;
        let bottom = values.start;
        let top = values.end;
        let mut chart = ChartBuilder::on(root)
            .caption(text(&self.title), ("sans-serif", 24))
            .margin(18)
            .x_label_area_size(50)
            .y_label_area_size(76)
            .build_cartesian_2d(0..last, values)?;
        chart
            .configure_mesh()
            .x_desc(text(&self.across))
            .y_desc(text(&self.upwards))
            .axis_desc_style(("sans-serif", 18))
            .label_style(("sans-serif", 15))
            .light_line_style(WHITE)
            .draw()?;
        for (number, line) in self.lines.iter().enumerate() {
            let style = ShapeStyle::from(COLORS[number % COLORS.len()]).stroke_width(2);
            let (dash, gap) = DASHES[number % DASHES.len()];
            let points = line.values.iter().enumerate().filter(|(_, value)| value.is_finite());
            let points = points.map(|(at, value)| (at, *value));
            let left_out = line.values.iter().filter(|value| !value.is_finite()).count();
            let name = match left_out {
                0 => line.name.clone(),
                count => format!("{} ({count} values are not finite)", line.name),
            };
            chart
                .draw_series(DashedLineSeries::new(points, dash, gap, style))?
                .label(text(&name))
                .legend(move |(x, y)| DashedPathElement::new(vec![(x, y), (x + 30, y)], dash, gap, style));
        }
        if let Some((at, meaning)) = &self.mark {
            let grey = RGBColor(110, 110, 110);
            let upright = LineSeries::new([(*at, bottom), (*at, top)], grey.stroke_width(1));
            chart
                .draw_series(upright)?
                .label(text(meaning))
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 30, y)], grey.stroke_width(1)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .legend_area_size(40)
            .label_font(("sans-serif", 16))
            .draw()?;
        root.present()?;
        Ok(())
    }
}
