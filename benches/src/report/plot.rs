//! Line charts as SVG files.

mod axis;

use std::path::Path;

use anyhow::{Context, ensure};
use plotters::coord::Shift;
use plotters::element::ComposedElement;
use plotters::prelude::*;
use program::console::files;

use axis::Span;
pub use axis::{Axis, Scale};

/// A line chart with a title, axes, lines, and a legend at the right.
#[derive(Clone, Debug)]
pub struct Chart {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    /// The lines, in the order of the legend and of the colours.
    pub series: Vec<Series>,
}

/// A line with a marker at each point.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub points: Vec<Point>,
    /// Whether lines are thin and markers hollow, as for baselines.
    pub thin: bool,
}

/// An x and the value measured there. The line breaks where there is no value, or none
/// that a logarithmic axis can show.
pub type Point = (f64, Option<f64>);

impl Chart {
    /// Writes the chart as an SVG file. A chart without a single point is an error; all
    /// errors name the file.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = self
            .svg()
            .with_context(|| format!("cannot draw {}", path.display()))?;
        files::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The chart as the text of an SVG file.
    pub fn svg(&self) -> anyhow::Result<String> {
        let lines: Vec<Vec<Vec<(f64, f64)>>> =
            self.series.iter().map(|s| self.segments(s)).collect();
        let points: Vec<(f64, f64)> = lines.iter().flatten().flatten().copied().collect();
        ensure!(
            !points.is_empty(),
            "expected at least one point with a value"
        );
        let x = Span::around(self.x.scale, points.iter().map(|p| p.0));
        let y = Span::around(self.y.scale, points.iter().map(|p| p.1));

        let mut text = String::new();
        let size = (PLOT_WIDTH + self.legend_width(), HEIGHT);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        self.draw(&root, x, y, &lines)
            .and_then(|()| root.present().map_err(Into::into))
            .context("the drawing failed")?;
        drop(root);
        Ok(text)
    }

    /// The points of a line, split at its gaps.
    fn segments(&self, series: &Series) -> Vec<Vec<(f64, f64)>> {
        let shown = |&(x, y): &Point| {
            let y = y?;
            (self.x.scale.shows(x) && self.y.scale.shows(y)).then_some((x, y))
        };
        series
            .points
            .split(|point| shown(point).is_none())
            .map(|run| run.iter().filter_map(shown).collect())
            .filter(|run: &Vec<_>| !run.is_empty())
            .collect()
    }

    fn draw(
        &self,
        root: &Area<'_>,
        x: Span,
        y: Span,
        lines: &[Vec<Vec<(f64, f64)>>],
    ) -> anyhow::Result<()> {
        root.fill(&WHITE)?;
        let (plot, legend) = root.split_horizontally(PLOT_WIDTH);
        let caption = font(TITLE_SIZE).style(FontStyle::Bold);
        let mut chart = ChartBuilder::on(&plot)
            .caption(&self.title, caption)
            .margin(14)
            .x_label_area_size(50)
            .y_label_area_size(76)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .bold_line_style(BLACK.mix(0.16))
            .light_line_style(BLACK.mix(0.05))
            .axis_style(BLACK.mix(0.7))
            .label_style(font(LABEL_SIZE))
            .axis_desc_style(font(NAME_SIZE))
            .x_desc(&self.x.name)
            .y_desc(&self.y.name)
            .draw()?;
        for (i, (series, line)) in self.series.iter().zip(lines).enumerate() {
            let pen = Pen::of(i, series);
            for run in line {
                chart.draw_series(LineSeries::new(run.iter().copied(), pen.line()))?;
                chart.draw_series(run.iter().map(|&point| pen.marker(point)))?;
            }
        }
        self.draw_legend(&legend)
    }

    fn draw_legend(&self, area: &Area<'_>) -> anyhow::Result<()> {
        for (i, series) in self.series.iter().enumerate() {
            let pen = Pen::of(i, series);
            let y = LEGEND_TOP + i as i32 * LEGEND_STEP;
            let line = vec![(0, y), (LEGEND_LINE, y)];
            area.draw(&PathElement::new(line, pen.line()))?;
            area.draw(&pen.marker((LEGEND_LINE / 2, y)))?;
            let place = (LEGEND_LINE + 8, y - 6);
            area.draw(&Text::new(series.name.clone(), place, font(NAME_SIZE)))?;
        }
        Ok(())
    }

    /// No font is measured: all letters count as wide.
    fn legend_width(&self) -> u32 {
        let longest = self.series.iter().map(|s| s.name.chars().count()).max();
        LEGEND_LINE as u32 + 20 + 8 * longest.unwrap_or(0) as u32
    }
}

impl Series {
    pub fn new(name: impl Into<String>, points: Vec<Point>) -> Series {
        Series {
            name: name.into(),
            points,
            thin: false,
        }
    }

    /// The same with thin lines, as for baselines.
    pub fn thin(self) -> Series {
        Series { thin: true, ..self }
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The look of the `index`-th series.
struct Pen {
    color: RGBColor,
    shape: &'static [(i32, i32)],
    thin: bool,
}

impl Pen {
    fn of(index: usize, series: &Series) -> Pen {
        Pen {
            color: COLORS[index % COLORS.len()],
            shape: SHAPES[index % SHAPES.len()],
            thin: series.thin,
        }
    }

    fn line(&self) -> ShapeStyle {
        self.color.stroke_width(if self.thin { 1 } else { 2 })
    }

    /// A marker at a point of the chart or of the picture.
    fn marker<'a, C>(&self, at: C) -> Marker<'a, C> {
        let inside = if self.thin { WHITE } else { self.color };
        let edge: Vec<(i32, i32)> = self
            .shape
            .iter()
            .chain(self.shape.first())
            .copied()
            .collect();
        EmptyElement::at(at)
            + Polygon::new(self.shape, inside.filled())
            + PathElement::new(edge, self.color)
    }
}

/// A polygon and its edge, in pixels from a point.
type Marker<'a, C> =
    ComposedElement<C, SVGBackend<'a>, Polygon<(i32, i32)>, PathElement<(i32, i32)>>;

fn font(size: u32) -> FontDesc<'static> {
    ("sans-serif", size).into_font()
}

/// In pixels.
const PLOT_WIDTH: u32 = 700;
const HEIGHT: u32 = 460;
const LEGEND_TOP: i32 = 60;
const LEGEND_STEP: i32 = 22;
const LEGEND_LINE: i32 = 34;
/// In the library's unit; an SVG file has them divided by 1.24.
const TITLE_SIZE: u32 = 21;
const NAME_SIZE: u32 = 16;
const LABEL_SIZE: u32 = 15;

/// Dark on white paper, and distinct for the colour-blind: those of Okabe and Ito without
/// yellow, and some more.
const COLORS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(150, 70, 160),
    RGBColor(0, 0, 0),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(204, 100, 150),
    RGBColor(120, 120, 120),
];

/// Polygons around a point. There is one less than colours, so that pairs of colour and
/// shape repeat late.
const SHAPES: [&[(i32, i32)]; 8] = [
    &[
        (-2, -4),
        (2, -4),
        (4, -2),
        (4, 2),
        (2, 4),
        (-2, 4),
        (-4, 2),
        (-4, -2),
    ],
    &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
    &[(0, -5), (5, 4), (-5, 4)],
    &[(0, -6), (6, 0), (0, 6), (-6, 0)],
    &[(0, 5), (5, -4), (-5, -4)],
    &[(-5, 0), (4, -5), (4, 5)],
    &[(5, 0), (-4, -5), (-4, 5)],
    &[(-5, -2), (5, -2), (5, 2), (-5, 2)],
];

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let points = |k: f64| {
            let clients = (9..20).map(|n| f64::from(1 << n));
            clients.map(|x| (x, Some(k * x / 512.0))).collect()
        };
        Chart {
            title: "Time <all>".to_owned(),
            x: Axis::log2("clients"),
            y: Axis::log10("time (ms)"),
            series: vec![
                Series::new("CPU", points(2.3)).thin(),
                Series::new("GPU & bus", points(0.01)),
            ],
        }
    }

    /// How many times `part` occurs in the chart's file.
    fn count(chart: &Chart, part: &str) -> usize {
        chart.svg().unwrap().matches(part).count()
    }

    /// The numbers of markers and of lines in a series' colour.
    fn shapes_of(chart: &Chart, series: usize) -> (usize, usize) {
        let RGBColor(r, g, b) = COLORS[series];
        let color = format!("#{r:02X}{g:02X}{b:02X}");
        let text = chart.svg().unwrap();
        let of = |tag: &str, width: &str| {
            let lines = text.lines().filter(|line| line.starts_with(tag));
            lines
                .filter(|l| l.contains(&color) && l.contains(width))
                .count()
        };
        let legend = 1;
        (
            of("<polygon", "") - legend,
            of("<polyline", "stroke-width=\"2\"") - legend,
        )
    }

    #[test]
    fn titles_names_and_legend_are_written_and_escaped() {
        let chart = chart();
        for text in [
            "Time &lt;all&gt;",
            "clients",
            "time (ms)",
            "CPU",
            "GPU &amp; bus",
        ] {
            assert_eq!(count(&chart, &format!("\n{text}\n")), 1, "{text}");
        }
        // A label of each axis.
        assert_eq!(count(&chart, "\n524,288\n"), 1);
        assert_eq!(count(&chart, "\n1,000\n"), 1);
    }

    #[test]
    fn a_line_has_a_marker_at_each_point() {
        assert_eq!(shapes_of(&chart(), 1), (11, 1));
    }

    #[test]
    fn a_line_breaks_at_missing_values_and_at_values_that_the_axis_cannot_show() {
        let mut broken = chart();
        broken.series[1].points[3].1 = None;
        // A logarithmic axis has no 0.
        broken.series[1].points[7].1 = Some(0.0);
        assert_eq!(shapes_of(&broken, 1), (9, 3));
        broken.y.scale = Scale::Linear;
        assert_eq!(shapes_of(&broken, 1), (10, 2));
    }

    #[test]
    fn a_chart_without_points_is_an_error() {
        let mut empty = chart();
        for series in &mut empty.series {
            series.points.iter_mut().for_each(|point| point.1 = None);
        }
        let error = format!("{:#}", empty.write(Path::new("/x/y.svg")).unwrap_err());
        assert!(error.contains("/x/y.svg"), "{error}");
        assert!(error.contains("at least one point"), "{error}");
    }

    #[test]
    fn a_single_point_is_a_chart() {
        for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
            for value in [0.5, 3.0, 1e9] {
                let mut single = chart();
                (single.x.scale, single.y.scale) = (scale, scale);
                single.series = vec![Series::new("one", vec![(value, Some(value))])];
                assert_eq!(shapes_of(&single, 0).0, 1);
            }
        }
    }
}
