//! Images of layers: PNG of as many pixels as the world has cells.

use std::io::{self, Cursor, Read};

use png::{BitDepth, ColorType, Decoder, Limits, Transformations};

use super::folder::read_bounded_bytes;

/// The pixels of an image as they stand in it, but from the lowest row up.
pub(super) struct Pixels {
    color: ColorType,
    depth: BitDepth,
    palette: Vec<u8>,
    width: usize,
    height: usize,
    /// Bytes of a row.
    row: usize,
    bytes: Vec<u8>,
}

/// The bytes of an image's file.
pub(super) fn read_file(file: impl Read) -> io::Result<Vec<u8>> {
    read_bounded_bytes(file, FILE_BYTES_MAX)
}

/// Reads an image of exactly so many pixels, so that it takes no more memory than the world's
/// cells.
pub(super) fn decode(bytes: &[u8], [width, height]: [usize; 2]) -> Result<Pixels, String> {
    let limits = Limits {
        bytes: DECODER_BYTES_MAX,
    };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(Transformations::IDENTITY);
    let wrong = |error: png::DecodingError| format!("expected a PNG image: {error}");
    let mut reader = decoder.read_info().map_err(wrong)?;
    let info = reader.info();
    let found = [info.width as usize, info.height as usize];
    if found != [width, height] {
        return Err(format!(
            "expected {width} times {height} pixels, one for each cell, found {} times {}",
            found[0], found[1]
        ));
    }
    let (color, depth) = (info.color_type, info.bit_depth);
    let palette = info.palette.as_deref().unwrap_or_default().to_vec();
    let size = reader.output_buffer_size().unwrap_or(usize::MAX);
    if size > PIXELS_BYTES_MAX {
        return Err(format!(
            "expected pixels of {PIXELS_BYTES_MAX} bytes at most, found {size}: with fewer bits each \
             it can have as many"
        ));
    }
    let mut bytes = vec![0; size];
    let frame = reader.next_frame(&mut bytes).map_err(wrong)?;
    if [frame.width as usize, frame.height as usize] != found {
        return Err("expected an image without frames of other sizes".to_owned());
    }
    Ok(Pixels {
        color,
        depth,
        palette,
        width,
        height,
        row: frame.line_size,
        bytes,
    })
}

impl Pixels {
    /// Each pixel's samples, 16 bits each, from the lowest row up.
    fn samples<T>(
        &self,
        mut of: impl FnMut(&[u16]) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let n = self.color.samples();
        let mut cells = Vec::with_capacity(self.width * self.height);
        let mut samples = [0; 4];
        for row in self.bytes.chunks_exact(self.row).rev() {
            for x in 0..self.width {
                for (i, sample) in samples[..n].iter_mut().enumerate() {
                    let at = x * n + i;
                    *sample = match self.depth {
                        BitDepth::Eight => u16::from(row[at]),
                        BitDepth::Sixteen => u16::from_be_bytes([row[2 * at], row[2 * at + 1]]),
                        depth => {
                            let bits = depth as usize;
                            let shift = 8 - bits - at * bits % 8;
                            u16::from(row[at * bits / 8] >> shift) & ((1 << bits) - 1)
                        }
                    };
                }
                cells.push(of(&samples[..n])?);
            }
        }
        Ok(cells)
    }

    /// Whether each pixel is dark and can be seen.
    pub fn dark(&self) -> Result<Vec<bool>, String> {
        let half = 1 << (self.depth as u32 - 1);
        let is_dark = |[red, green, blue]: [u32; 3], half: u32| {
            (299 * red + 587 * green + 114 * blue) < 1000 * half
        };
        self.samples(|samples| {
            let [first, ..] = *samples else {
                return Err("it has no colours".to_owned());
            };
            let wide = |sample: u16| u32::from(sample);
            Ok(match (self.color, samples) {
                (ColorType::Indexed, _) => {
                    let at = usize::from(first) * 3;
                    let color = self.palette.get(at..at + 3);
                    let color = color.ok_or("a pixel has a colour that the palette lacks")?;
                    is_dark([0, 1, 2].map(|i| u32::from(color[i])), 128)
                }
                (_, &[gray]) => is_dark([wide(gray); 3], half),
                (_, &[gray, alpha]) => is_dark([wide(gray); 3], half) && wide(alpha) >= half,
                (_, &[red, green, blue]) => is_dark([red, green, blue].map(wide), half),
                (_, &[red, green, blue, alpha, ..]) => {
                    is_dark([red, green, blue].map(wide), half) && wide(alpha) >= half
                }
                _ => false,
            })
        })
    }

    /// Each pixel as a height: of 8 bits as it is, of 16 bits less 32,768.
    pub fn heights(&self) -> Result<Vec<i16>, String> {
        if self.color != ColorType::Grayscale {
            return Err("expected shades of gray, without transparency".to_owned());
        }
        let is_wide = self.depth == BitDepth::Sixteen;
        self.samples(|samples| {
            let height = i32::from(samples[0]) - if is_wide { 32_768 } else { 0 };
            i16::try_from(height).map_err(|error| error.to_string())
        })
    }

    /// Each pixel as a number from 0 to `max`: its place in the palette, or its shade.
    pub fn numbers(&self, max: usize) -> Result<Vec<u8>, String> {
        if !matches!(self.color, ColorType::Grayscale | ColorType::Indexed) {
            return Err("expected a palette, or shades of gray".to_owned());
        }
        self.samples(|samples| match u8::try_from(samples[0]) {
            Ok(number) if usize::from(number) <= max => Ok(number),
            _ => Err(format!(
                "expected numbers up to {max}, of as many tags, found {}",
                samples[0]
            )),
        })
    }
}

/// The most bytes of an image's file.
const FILE_BYTES_MAX: usize = 8 << 20;
/// The most bytes of an image in memory: 4 for each cell of the largest layer.
const PIXELS_BYTES_MAX: usize = 4 << 26;
/// What the decoder may use beside the pixels.
const DECODER_BYTES_MAX: usize = 1 << 20;
