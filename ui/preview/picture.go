package preview

import (
	"bytes"
	"fmt"
	"image"
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

// picture reads the header of an image, and the image when it is small enough.
func (c *Content) picture(b []byte) {
	head, _, err := image.DecodeConfig(bytes.NewReader(b))
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
	}
	img, err := decode(b)
	if err != nil {
		c.Notes = append(c.Notes, "The picture cannot be decoded: it is damaged or cut off.")
		return
	}
	c.small = shrink(img)
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
	w, h := fitted(at.Dx(), at.Dy(), edge, edge)
	t := thumbnail{w: w, h: h, pixels: make([][3]uint8, 0, w*h)}
	for y := range h {
		for x := range w {
			var sum [3]uint32
			for i := range samples * samples {
				px := at.Min.X + (x*samples+i%samples)*at.Dx()/(w*samples)
				py := at.Min.Y + (y*samples+i/samples)*at.Dy()/(h*samples)
				r, g, b, a := img.At(px, py).RGBA()
				white := 0xffff - a
				sum[0], sum[1], sum[2] = sum[0]+(r+white)>>8, sum[1]+(g+white)>>8, sum[2]+(b+white)>>8
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
