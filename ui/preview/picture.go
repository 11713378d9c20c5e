package preview

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decodes GIF: its first picture
	_ "image/jpeg"
	_ "image/png"
	"strings"

	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// thumbnail is a picture of at most edge pixels each way, as red, green and blue.
type thumbnail struct {
	w, h   int
	pixels [][3]uint8 // row by row
}

const (
	edge    = 240 // pixels of a thumbnail's longer side
	samples = 4   // each way, of the pixels that one of a thumbnail stands for
)

// The bounds of a picture that is decoded.
const (
	MaxPixels  = 12_000_000
	MaxDecoded = 46 << 20 // bytes that decoding takes: with a document of 16 MB, about 64 MB
)

// picture reads the header of an image, and the image when it is small enough.
func (c *Content) picture(b []byte) {
	head, kind, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		c.Notes = append(c.Notes, "The picture cannot be decoded: its header is damaged.")
		return
	}
	c.Width, c.Height = head.Width, head.Height
	switch {
	case head.Width < 1 || head.Height < 1:
		c.Notes = append(c.Notes, "The picture is empty.")
		return
	case head.Width > MaxPixels || head.Height > MaxPixels/head.Width:
		c.Notes = append(c.Notes, fmt.Sprintf("The picture is not drawn: pictures of more than %s pixels are not decoded.", draw.Count(MaxPixels)))
		return
	case c.Cut():
		c.Notes = append(c.Notes, "The picture is not drawn: only its beginning was read.")
		return
	}
	if takes := decoded(b, head, kind); takes > MaxDecoded {
		c.Notes = append(c.Notes, fmt.Sprintf("The picture is not drawn: decoding it would take %s of memory, more than %s.", draw.Size(int64(takes)), draw.Size(MaxDecoded)))
		return
	}
	img, err := decode(b)
	if err != nil {
		c.Notes = append(c.Notes, "The picture cannot be decoded: it is damaged or cut off.")
		return
	}
	c.small = shrink(img)
}

// decoded is how many bytes decoding an image takes at most. The decoders of the standard
// library keep one image of its colour model; of a progressive JPEG also four bytes for each
// sample, of a JPEG of other colours than YCbCr a second image, and of an interlaced PNG
// the image of a pass.
func decoded(b []byte, head image.Config, kind string) int {
	whole := (head.Width + 15) &^ 15 * ((head.Height + 15) &^ 15) // a JPEG is made of blocks
	samples, pixel := 3, 3
	switch head.ColorModel {
	case color.GrayModel:
		samples, pixel = 1, 1
	case color.Gray16Model:
		pixel = 2
	case color.RGBAModel, color.NRGBAModel, color.CMYKModel:
		samples, pixel = 4, 4
	case color.RGBA64Model, color.NRGBA64Model:
		pixel = 8
	}
	if _, palette := head.ColorModel.(color.Palette); palette {
		pixel = 1
	}
	switch kind {
	case "jpeg":
		if samples == 4 {
			pixel *= 2
		}
		if progressive(b) {
			pixel += 4 * samples
		}
		return whole * pixel
	case "png":
		if len(b) > 28 && b[28] != 0 {
			pixel *= 2
		}
	}
	return head.Width * head.Height * pixel
}

// progressive reports whether a JPEG is a progressive one: the segment that begins its
// frame says so. One that cannot be told counts as one.
func progressive(b []byte) bool {
	for at := 2; at+4 <= len(b); {
		switch kind := b[at+1]; {
		case b[at] != 0xff:
			return true
		case kind == 0xff: // filling
			at++
			continue
		case kind == 0xc0 || kind == 0xc1:
			return false
		case kind == 0xc2:
			return true
		case kind == 0x01 || kind >= 0xd0 && kind <= 0xd8: // without a length
			at += 2
			continue
		}
		at += 2 + int(b[at+2])<<8 + int(b[at+3])
	}
	return true
}

// decode decodes an image; a fault of a decoder counts as damage.
func decode(b []byte) (img image.Image, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decoding: %v", r)
		}
	}()
	img, _, err = image.Decode(bytes.NewReader(b))
	return img, err
}

// shrink makes an image small; what shines through is white.
func shrink(img image.Image) thumbnail {
	at := img.Bounds()
	pixels, ok := img.(image.RGBA64Image) // without an allocation for each pixel
	if !ok {
		return thumbnail{}
	}
	w, h := fitted(at.Dx(), at.Dy(), edge, edge)
	t := thumbnail{w: w, h: h, pixels: make([][3]uint8, 0, w*h)}
	for y := range h {
		for x := range w {
			var sum [3]uint32
			for i := range samples * samples {
				px := at.Min.X + (x*samples+i%samples)*at.Dx()/(w*samples)
				py := at.Min.Y + (y*samples+i/samples)*at.Dy()/(h*samples)
				c := pixels.RGBA64At(px, py)
				white := 0xffff - uint32(c.A)
				for i, part := range [...]uint16{c.R, c.G, c.B} {
					sum[i] += (uint32(part) + white) >> 8
				}
			}
			const n = samples * samples
			t.pixels = append(t.pixels, [3]uint8{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n)})
		}
	}
	return t
}

// fitted is w by h made to fit into the other two, in the same proportion, at least 1
// each, never larger.
func fitted(w, h, intoW, intoH int) (int, int) {
	intoW, intoH = max(intoW, 1), max(intoH, 1)
	if w > intoW {
		w, h = intoW, h*intoW/w
	}
	if h > intoH {
		w, h = w*intoH/h, intoH
	}
	return max(w, 1), max(h, 1)
}

// lines draws the thumbnail in at most w cells and h lines: a cell is two pixels, one
// above the other.
func (t thumbnail) lines(th *theme.Theme, w, h int) []string {
	dw, dh := fitted(t.w, t.h, w, 2*h)
	dot := func(x, y int) [3]uint8 { return t.pixels[min(y, dh-1)*t.h/dh*t.w+x*t.w/dw] }
	var out []string
	for y := 0; y < dh; y += 2 {
		var row strings.Builder
		for x := 0; x < dw; {
			above, below, n := dot(x, y), dot(x, y+1), 1
			for x+n < dw && dot(x+n, y) == above && dot(x+n, y+1) == below {
				n++
			}
			row.WriteString(th.Pixels(above, below).Render(strings.Repeat("▀", n)))
			x += n
		}
		out = append(out, row.String())
	}
	return out
}
