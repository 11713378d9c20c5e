package jsontree

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// Errors of Unpack.
var (
	ErrPacked   = errors.New("the compressed body cannot be unpacked")
	ErrTooLarge = errors.New("the unpacked body is too large")
)

// CodingError names a content coding that is not supported. Its text is safe to draw.
type CodingError struct{ Name string }

// Error implements error.
func (e *CodingError) Error() string { return "the content coding " + e.Name + " is not supported" }

const byteOrderMark = "\xef\xbb\xbf"

// Unpack returns the text in a body: it undoes gzip, deflate and zlib, whether or not Content-Encoding (encoding)
// names them, drops a byte order mark and converts UTF-16 to UTF-8. most is the largest text in bytes. A body without
// any of these is returned unchanged.
func Unpack(body []byte, encoding string, most int) ([]byte, error) {
	codings := strings.Split(strings.ToLower(encoding), ",")
	for i := len(codings) - 1; i >= 0; i-- {
		var err error
		if body, err = uncoded(body, strings.TrimSpace(codings[i]), most); err != nil {
			return nil, err
		}
	}
	if isGzip(body) {
		var err error
		if body, err = uncoded(body, "gzip", most); err != nil {
			return nil, err
		}
	}
	return utf8Text(body), nil
}

func isGzip(b []byte) bool { return len(b) > 2 && b[0] == 0x1f && b[1] == 0x8b }

func uncoded(body []byte, coding string, most int) ([]byte, error) {
	var from io.Reader
	var err error
	switch coding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		if !isGzip(body) { // a proxy unpacked it and left the header
			return body, nil
		}
		from, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		if from, err = zlib.NewReader(bytes.NewReader(body)); err != nil { // many senders omit zlib's header
			from, err = flate.NewReader(bytes.NewReader(body)), nil
		}
	default:
		return nil, &CodingError{Name: fmt.Sprintf("%.40q", coding)}
	}
	if err != nil {
		return nil, ErrPacked
	}
	out, err := io.ReadAll(io.LimitReader(from, int64(most)+1))
	switch {
	case len(out) > most:
		return nil, ErrTooLarge
	case err != nil:
		return nil, ErrPacked
	}
	return out, nil
}

// utf8Text drops a byte order mark, and converts UTF-16 with one to UTF-8.
func utf8Text(b []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(b, []byte(byteOrderMark))
	}
	units := make([]uint16, 0, len(b)/2)
	for b = b[2:]; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return []byte(string(utf16.Decode(units)))
}
