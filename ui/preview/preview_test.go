package preview

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/ui/theme"
)

func themed(p termenv.Profile, palette theme.Palette) *theme.Theme {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(p)
	return theme.New(r, palette)
}

func picture(t *testing.T, encode func(io.Writer, image.Image) error) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 60, 40))
	for x := range 60 {
		for y := range 40 {
			img.Set(x, y, color.RGBA{uint8(4 * x), uint8(6 * y), 90, 255})
		}
	}
	var b bytes.Buffer
	if err := encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// whole is Of a document that was read whole.
func whole(b []byte) Content { return Of(api.Part{Bytes: b}) }

func asPNG(t *testing.T) []byte { return picture(t, png.Encode) }

// claiming is a PNG whose header tells another size than it holds.
func claiming(b []byte, w, h uint32) []byte {
	b = bytes.Clone(b)
	binary.BigEndian.PutUint32(b[16:], w)
	binary.BigEndian.PutUint32(b[20:], h)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

const hostile = "\x1b]52;c;aGk=\a\x1b[2J\x9b31m\u202eevil\u2066\u0085\x00\x7f"

// TestNothingActsOnTheTerminal: hostile bytes in each kind, and pictures that lie about
// their size or are cut off.
func TestNothingActsOnTheTerminal(t *testing.T) {
	small := asPNG(t)
	for name, b := range map[string][]byte{
		"text":         []byte("hello\n" + strings.ReplaceAll(hostile, "\x00", "")),
		"html":         []byte("<html><script>" + hostile),
		"binary":       []byte("\x00\x01" + hostile),
		"pdf":          []byte("%PDF-1.4\n1 0 obj\n<< /Title (" + hostile + ") >>\nendobj\ntrailer << /Info 1 0 R >>"),
		"utf-16 title": []byte("%PDF-1.4\n1 0 obj\n<< /Title <FEFF001B005D0035202E> >>\nendobj\ntrailer << /Info 1 0 R >>"),
		"open title":   []byte("%PDF-1.4\n1 0 obj\n<< /Title (((\\"),
		"png":          small,
		"png cut":      small[:len(small)/2],
		"png header":   small[:20],
		"png bomb":     claiming(small, 100_000, 100_000),
		"png long":     claiming(small, 4000, 3000), // within the bound, without the bytes
		"png overflow": claiming(small, 1<<31-1, 1<<31-1),
		"png text":     append(bytes.Clone(small), hostile...),
		"jpeg cut":     picture(t, func(w io.Writer, i image.Image) error { return jpeg.Encode(w, i, nil) })[:300],
		"gif":          picture(t, func(w io.Writer, i image.Image) error { return gif.Encode(w, i, nil) }),
		"gif cut":      []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"),
		"nothing":      {},
	} {
		t.Run(name, func(t *testing.T) {
			c := whole(b)
			if c.Size != len(b) || len(c.SHA256) != 64 {
				t.Errorf("%d bytes, %q", c.Size, c.SHA256)
			}
			for _, th := range []*theme.Theme{themed(termenv.TrueColor, theme.Night()), themed(termenv.ANSI, theme.Day()), themed(termenv.Ascii, theme.Mono())} {
				lines := append(append(c.Lines(th, 60, 20), c.Notes...), c.Title, c.TypeWord(), c.Differs("image/png\x1b[2J"), c.Differs("application/pdf"))
				for _, l := range lines {
					plain := ansi.Strip(l)
					if strings.ContainsFunc(plain, unicode.IsControl) || strings.ContainsAny(l, "\a\u202e\u2066\u0085\u009b\x7f") || !utf8.ValidString(l) || !onlyColours(l) {
						t.Errorf("%q", l)
					}
				}
			}
		})
	}
}

// onlyColours reports whether every escape in a line is an SGR sequence.
func onlyColours(l string) bool {
	for _, part := range strings.Split(l, "\x1b")[1:] {
		end := strings.IndexFunc(part, func(r rune) bool { return !strings.ContainsRune("[0123456789;", r) })
		if end < 1 || part[0] != '[' || part[end] != 'm' {
			return false
		}
	}
	return true
}

func TestPictureFitsAndIsBounded(t *testing.T) {
	c := whole(asPNG(t))
	if c.Width != 60 || c.Height != 40 || c.Kind() != "picture" || len(c.Notes) != 0 {
		t.Fatalf("%+v", c)
	}
	for _, size := range [][2]int{{60, 30}, {20, 30}, {200, 5}, {1, 1}} {
		lines := c.Lines(themed(termenv.TrueColor, theme.Night()), size[0], size[1])
		if len(lines) == 0 || len(lines) > size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range lines {
			if w := ansi.StringWidth(l); w < 1 || w > size[0] {
				t.Errorf("%v: a line of %d cells", size, w)
			}
		}
	}
	for _, th := range []*theme.Theme{themed(termenv.ANSI, theme.Mono()), themed(termenv.Ascii, theme.Night()), themed(termenv.TrueColor, theme.Night()).ASCII()} {
		if l := c.Lines(th, 60, 30); len(l) != 1 || !strings.Contains(l[0], "no colours") {
			t.Errorf("drawn without colours: %q", l)
		}
	}
	big := whole(claiming(asPNG(t), 100_000, 100_000))
	if big.Kind() == "picture" || !strings.Contains(strings.Join(big.Notes, " "), "12,000,000 pixels are not decoded") {
		t.Errorf("%+v", big.Notes)
	}
}

func TestTextIsBounded(t *testing.T) {
	c := whole(bytes.Repeat([]byte("a line of text\n"), 1<<20))
	if n := len(c.Lines(nil, 80, 24)); n == 0 || n > maxLines || len(c.Notes) != 1 {
		t.Errorf("%d lines, %q", n, c.Notes)
	}
}

func TestPDFFacts(t *testing.T) {
	const file = "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 7 >>\nendobj\n" +
		"4 0 obj\n<< /Title (Invoice \\(copy\\) \\101) >>\nendobj\ntrailer << /Root 1 0 R /Info 4 0 R >>\n%%EOF"
	if c := whole([]byte(file)); c.Pages != 7 || c.Title != "Invoice (copy) A" || c.Type != "application/pdf" {
		t.Errorf("%d pages, %q", c.Pages, c.Title)
	}
	if c := whole([]byte("%PDF-1.7\n%%EOF")); c.Pages != 0 || c.Title != "" || len(c.Notes) != 2 {
		t.Errorf("%+v", c)
	}
}

func TestDiffers(t *testing.T) {
	for _, c := range []struct {
		content, told string
		differs       bool
	}{
		{"%PDF-1.4", "application/pdf", false}, {"%PDF-1.4", "application/pdf; x=y", false}, {"%PDF-1.4", "image/png", true},
		{"hello", "application/pdf", true}, {"a,b\n1,2", "text/csv", false}, {"{}", "application/json", false},
		{"PK\x03\x04rest", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", false},
		{"MZ\x90\x00\x03\x00\x00\x00", "application/pdf", true}, {"\x00\x01\x02", "application/x-own", false}, {"", "application/pdf", false},
	} {
		if said := whole([]byte(c.content)).Differs(untrusted.Text(c.told)); (said != "") != c.differs {
			t.Errorf("%q told as %s: %q", c.content, c.told, said)
		}
	}
}
