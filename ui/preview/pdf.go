package preview

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"opdeck/api/untrusted"
)

var (
	infoRef  = regexp.MustCompile(`/Info\s+(\d{1,9})\s+(\d{1,5})\s+R\b`)
	rootRef  = regexp.MustCompile(`/Root\s+(\d{1,9})\s+(\d{1,5})\s+R\b`)
	pagesRef = regexp.MustCompile(`/Pages\s+(\d{1,9})\s+(\d{1,5})\s+R\b`)
	pageSum  = regexp.MustCompile(`/Count\s+(\d{1,7})\b`)
	titleAt  = regexp.MustCompile(`/Title\s*([(<])`)
)

const maxPDFObject = 64 << 10 // bytes of an object that is looked into

// pdf reads the number of pages and the title where they stand outside compressed
// parts. Nothing is decompressed, and nothing of the file is run.
func (c *Content) pdf(b []byte) {
	if pages := object(b, reference(object(b, reference(b, rootRef)), pagesRef)); bytes.Contains(pages, []byte("/Pages")) {
		if all := pageSum.FindSubmatch(pages); all != nil {
			c.Pages, _ = strconv.Atoi(string(all[1]))
		}
	}
	if !bytes.Contains(b, []byte("/Encrypt")) {
		c.Title = title(object(b, reference(b, infoRef)))
	}
	c.Notes = append(c.Notes, "A PDF is not drawn here. Save it to read it.")
	if c.Pages == 0 {
		c.Notes = append(c.Notes, "The number of pages is not known: compressed parts of a file are not opened.")
	}
}

// reference is the last "12 0" that re finds in b; empty for none.
func reference(b []byte, re *regexp.Regexp) string {
	all := re.FindAllSubmatch(b, -1)
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	return string(last[1]) + " " + string(last[2])
}

// object is the last object of that number, without its stream.
func object(b []byte, ref string) []byte {
	if ref == "" {
		return nil
	}
	head := []byte(ref + " obj")
	for end := len(b); ; {
		at := bytes.LastIndex(b[:end], head)
		if at < 0 {
			return nil
		}
		if at == 0 || b[at-1] == '\n' || b[at-1] == '\r' || b[at-1] == ' ' {
			body := b[at+len(head) : min(at+len(head)+maxPDFObject, len(b))]
			if i := bytes.Index(body, []byte("endobj")); i >= 0 {
				body = body[:i]
			}
			if i := bytes.Index(body, []byte("stream")); i >= 0 {
				body = body[:i]
			}
			return body
		}
		end = at
	}
}

// title reads the title of an information dictionary, safe to draw.
func title(info []byte) string {
	at := titleAt.FindSubmatchIndex(info)
	if at == nil {
		return ""
	}
	raw, rest := []byte(nil), info[at[3]:]
	if info[at[2]] == '<' {
		digits, _, closed := bytes.Cut(rest, []byte(">"))
		var err error
		if raw, err = hex.DecodeString(strings.Join(strings.Fields(string(digits)), "")); err != nil || !closed {
			return ""
		}
	} else {
		raw = literal(rest)
	}
	if len(raw) >= 2 && raw[0] == 0xfe && raw[1] == 0xff {
		var units []uint16
		for i := 2; i+1 < len(raw); i += 2 {
			units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
		}
		return untrusted.Text(string(utf16.Decode(units))).Line(200)
	}
	return untrusted.Text(strings.ToValidUTF8(string(raw), "\ufffd")).Line(200)
}

// literal reads a string of a PDF up to the parenthesis that closes it.
func literal(b []byte) []byte {
	var out []byte
	for depth, i := 1, 0; i < len(b); i++ {
		switch x := b[i]; {
		case x == '\\' && i+1 < len(b):
			i++
			if strings.IndexByte(`()\`, b[i]) >= 0 {
				out = append(out, b[i])
			} else if d := octal(b[i:]); d > 0 {
				n, _ := strconv.ParseUint(string(b[i:i+d]), 8, 16)
				out = append(out, byte(n))
				i += d - 1
			}
			continue
		case x == '(':
			depth++
		case x == ')':
			if depth--; depth == 0 {
				return out
			}
		}
		out = append(out, b[i])
	}
	return out
}

// octal is how many octal digits b begins with, up to three.
func octal(b []byte) int {
	n := 0
	for n < min(len(b), 3) && b[n] >= '0' && b[n] <= '7' {
		n++
	}
	return n
}
