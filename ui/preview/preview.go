// Package preview makes of a document's bytes what a terminal can show of it safely:
// text, a picture in half blocks, the facts of a PDF, or its first bytes in hexadecimal.
//
// Nothing of the bytes is kept but what is shown, and nothing is written anywhere. Text
// goes through untrusted.Text; a picture is decoded only when its header tells that this
// takes no more than MaxPixels and MaxDecoded.
package preview

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// The bounds of what is looked at and shown.
const (
	maxText  = 256 << 10 // bytes of text
	maxLines = 5000      // lines of text
	maxLine  = 2000      // characters of a line
	maxHex   = 1024      // bytes in hexadecimal
)

// Content is what is known and shown of a document's bytes.
type Content struct {
	Size   int    // bytes read
	Total  int64  // bytes of the document: Size, more where only its beginning was read, or -1: not told
	SHA256 string // of the document, hexadecimal; empty when only its beginning was read
	Type   string // media type as the bytes tell it; "application/octet-stream": they do not

	Width, Height int       // pixels of a picture; 0: its header cannot be read
	Pages         int       // of a PDF; 0: not told outside its compressed parts
	Title         string    // of a PDF, safe to draw
	Notes         []string  // what is not shown, and why
	lines         []string  // text or hexadecimal, safe to draw
	small         thumbnail // the picture, made small
}

// Of looks at a document's bytes. It may take some tenths of a second: call it in a
// command. The bytes are not kept.
func Of(part api.Part) Content {
	b := part.Bytes
	c := Content{Size: len(b), Total: int64(len(b)), Type: sniff(b)}
	if part.Total != 0 {
		c.Total = part.Total
	} else {
		sum := sha256.Sum256(b)
		c.SHA256 = hex.EncodeToString(sum[:])
	}
	switch c.Type {
	case "image/png", "image/jpeg", "image/gif":
		c.picture(b)
	case "application/pdf":
		c.pdf(b)
	case "text/plain", "text/html", "text/xml":
		c.text(b)
		return c
	}
	if c.small.w == 0 {
		c.hex(b)
	}
	return c
}

// Cut reports whether only the beginning of the document was read.
func (c Content) Cut() bool { return c.Total != int64(c.Size) }

// Read says how many bytes were read: "1,024", "the first 1,024 of 20,000,000".
func (c Content) Read() string {
	switch {
	case !c.Cut():
		return draw.Count(c.Size)
	case c.Total < 0:
		return "the first " + draw.Count(c.Size) + "; how many there are was not told"
	}
	return "the first " + draw.Count(c.Size) + " of " + draw.Count(int(c.Total))
}

// sniff is the media type that the bytes tell, without parameters.
func sniff(b []byte) string {
	if strings.HasPrefix(string(b[:min(len(b), 8)]), "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
		return "application/x-ole-storage"
	}
	kind, _, _ := mime.ParseMediaType(http.DetectContentType(b))
	return kind
}

// Differs says in a sentence that the bytes are not what told names; empty when they
// are, or when that cannot be judged.
func (c Content) Differs(told untrusted.Text) string {
	kind, _, err := mime.ParseMediaType(strings.TrimSpace(string(told)))
	switch {
	case err != nil || kind == "application/octet-stream" || kind == c.Type || c.Size == 0:
		return ""
	case c.Type == "text/plain" && (strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "xml")):
		return ""
	case c.Type == "application/zip" && (strings.Contains(kind, "openxmlformats") || strings.Contains(kind, "opendocument")):
		return ""
	case c.Type == "application/x-ole-storage" && (kind == "application/msword" || strings.HasPrefix(kind, "application/vnd.ms-")):
		return ""
	case c.Type == "application/octet-stream" && !recognised(kind):
		return ""
	}
	return "The bytes are not what the service names: it says " + told.Line(80) + ", they are " + c.TypeWord() + "."
}

// recognised reports whether sniff would know that media type by its bytes.
func recognised(kind string) bool {
	return strings.HasPrefix(kind, "image/") || strings.HasPrefix(kind, "text/") || kind == "application/pdf" || kind == "application/msword" ||
		strings.Contains(kind, "openxmlformats") || strings.Contains(kind, "zip")
}

// TypeWord is Type for people.
func (c Content) TypeWord() string {
	switch c.Type {
	case "application/octet-stream":
		return "of no kind that can be recognised"
	case "application/x-ole-storage":
		return "an older Office document"
	}
	return c.Type
}

// text keeps the first lines of a text.
func (c *Content) text(b []byte) {
	head := b[:min(len(b), maxText)]
	c.lines = untrusted.Text(strings.ReplaceAll(string(head), "\t", "    ")).Block(maxLines, maxLine)
	if len(head) < len(b) || strings.Count(string(head), "\n") > maxLines {
		c.Notes = append(c.Notes, fmt.Sprintf("Only the beginning is shown: up to %s of text and %s lines. Save the file to see all of it.", draw.Size(maxText), draw.Count(maxLines)))
	}
}

// hex keeps the first bytes in hexadecimal.
func (c *Content) hex(b []byte) {
	head := b[:min(len(b), maxHex)]
	for at := 0; at < len(head); at += 16 {
		row := head[at:min(at+16, len(head))]
		var digits, letters strings.Builder
		for i, x := range row {
			if i == 8 {
				digits.WriteByte(' ')
			}
			fmt.Fprintf(&digits, "%02x ", x)
			if x < 0x20 || x > 0x7e {
				x = '.'
			}
			letters.WriteByte(x)
		}
		c.lines = append(c.lines, fmt.Sprintf("%08x  %-49s %s", at, digits.String(), letters.String()))
	}
	if len(head) < len(b) {
		c.Notes = append(c.Notes, fmt.Sprintf("The first %s of %s bytes are shown.", draw.Count(maxHex), draw.Count(len(b))))
	}
}

// Kind names what is shown: "text", "picture", "first bytes".
func (c Content) Kind() string {
	switch {
	case c.small.w > 0:
		return "picture"
	case strings.HasPrefix(c.Type, "text/"):
		return "text"
	}
	return "first bytes"
}

// Lines is the content in at most w cells a line, a picture also in at most h lines.
func (c Content) Lines(th *theme.Theme, w, h int) []string {
	switch {
	case c.small.w > 0 && !th.Pictures():
		return []string{"This terminal shows no colours, so the picture is not drawn; its size is above."}
	case c.small.w > 0:
		return c.small.lines(th, w, h)
	}
	return c.lines
}
