package cli

import (
	"bytes"
	"io"
	"strings"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
)

// safeLines passes whole lines on, cleaned, where they may meet a terminal.
// Close passes on what is left.
type safeLines struct {
	w     io.Writer
	clean func(string) string
	rest  []byte
}

// cleanFor is the cleaning of a format: JSON keeps everything as escapes, CSV
// gets marks in place of what could act on a terminal.
func cleanFor(f index.Format) func(string) string {
	if f == index.JSONL {
		return escapeFormat
	}
	return func(s string) string {
		lines := strings.Split(s, "\n")
		for i, l := range lines {
			lines[i], _ = untrusted.Clean(l, len(l)+1)
		}
		return strings.Join(lines, "\n")
	}
}

func (s *safeLines) Write(b []byte) (int, error) {
	s.rest = append(s.rest, b...)
	end := bytes.LastIndexByte(s.rest, '\n') + 1
	if end == 0 {
		return len(b), nil
	}
	out := s.clean(string(s.rest[:end]))
	s.rest = append(s.rest[:0], s.rest[end:]...)
	_, err := io.WriteString(s.w, out)
	return len(b), err
}

// Close writes a last line without an end.
func (s *safeLines) Close() error {
	if len(s.rest) == 0 {
		return nil
	}
	_, err := io.WriteString(s.w, s.clean(string(s.rest)))
	s.rest = nil
	return err
}
