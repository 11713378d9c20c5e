package preview

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"runtime"
	"strings"
	"testing"

	"opdeck/api"
)

// TestDecodingIsBounded: whatever a picture is, looking at it takes no more than 64 MB with
// the document itself, and one that would take more is described by its size.
func TestDecodingIsBounded(t *testing.T) {
	encoded := func(encode func(io.Writer, image.Image) error, img image.Image) []byte {
		var b bytes.Buffer
		if err := encode(&b, img); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	asJPEG := func(w io.Writer, i image.Image) error { return jpeg.Encode(w, i, nil) }
	gray := image.NewGray(image.Rect(0, 0, 4000, 3000))
	colours := image.NewRGBA(image.Rect(0, 0, 4000, 3000))
	small := encoded(asJPEG, image.NewRGBA(image.Rect(0, 0, 64, 64)))
	const most = 64 << 20
	for name, c := range map[string]struct {
		b     []byte
		drawn bool
	}{
		"jpeg":             {encoded(asJPEG, colours), true},
		"gray jpeg":        {encoded(asJPEG, gray), true},
		"png":              {encoded(png.Encode, colours), true},
		"deep png":         {encoded(png.Encode, image.NewNRGBA64(image.Rect(0, 0, 3000, 3000))), false},
		"gif":              {encoded(func(w io.Writer, i image.Image) error { return gif.Encode(w, i, nil) }, image.NewPaletted(gray.Rect, color.Palette{color.Black, color.White})), true},
		"progressive":      {asProgressive(small, 4000, 3000), false},
		"progressive, few": {asProgressive(small, 1700, 1700), false}, // it is decoded, and cut off
		"too many pixels":  {claiming(asPNG(t), 4001, 3000), false},
		"interlaced":       {interlaced(claiming(asPNG(t), 4000, 3000)), false},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := whole(c.b)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc + uint64(len(c.b)); took > most {
				t.Errorf("%d bytes were allocated", took)
			}
			if drawn := got.Kind() == "picture"; drawn != c.drawn || !drawn && len(got.Notes) == 0 || got.Width == 0 {
				t.Errorf("drawn: %v, %q, %d wide", drawn, got.Notes, got.Width)
			}
		})
	}
}

// asProgressive is a JPEG that claims to be a progressive one of that size.
func asProgressive(b []byte, w, h int) []byte {
	b = bytes.Clone(b)
	at := bytes.Index(b, []byte{0xff, 0xc0})
	b[at+1] = 0xc2
	binary.BigEndian.PutUint16(b[at+5:], uint16(h))
	binary.BigEndian.PutUint16(b[at+7:], uint16(w))
	scan := bytes.Index(b, []byte{0xff, 0xda})
	b[scan+4+2*3+2] = 0 // the first scan of a progressive one holds the first coefficient alone
	return b
}

// interlaced is a PNG that claims to be an interlaced one.
func interlaced(b []byte) []byte {
	b[28] = 1
	return claiming(b, binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[20:]))
}

// TestBeginning: of a document that was cut, nothing is told that only all of it tells.
func TestBeginning(t *testing.T) {
	text := []byte(strings.Repeat("a line\n", 100))
	for name, c := range map[string]struct {
		part  api.Part
		read  string
		notes string
	}{
		"all":        {api.Part{Bytes: text}, "700", ""},
		"beginning":  {api.Part{Bytes: text, Total: 20_000_000}, "the first 700 of 20,000,000", ""},
		"not told":   {api.Part{Bytes: text, Total: -1}, "the first 700; how many there are was not told", ""},
		"of picture": {api.Part{Bytes: asPNG(t)[:60], Total: 20_000_000}, "the first 60 of 20,000,000", "only its beginning was read"},
		"of PDF":     {api.Part{Bytes: []byte("%PDF-1.4\n"), Total: 20_000_000}, "the first 9 of 20,000,000", "number of pages is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Of(c.part)
			if cut := c.part.Total != 0; got.Cut() != cut || (got.SHA256 == "") != cut || got.Read() != c.read {
				t.Errorf("cut: %v, %q, %q", got.Cut(), got.Read(), got.SHA256)
			}
			if notes := strings.Join(got.Notes, " "); !strings.Contains(notes, c.notes) {
				t.Errorf("%q", notes)
			}
		})
	}
}
