// Package capsule is the evidence of an incident for another person: one file with redacted records and a summary. What
// goes into it is chosen field by field; texts that may come from outside stay out.
package capsule

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The two parts of a capsule, a compressed tar file. Other names are refused, and none is ever used as a path.
const (
	summaryPart = "summary.txt"
	recordsPart = "records.jsonl"
)

// Bounds of a capsule that is read: the file comes from another person.
const (
	maxFile    = 8 << 20  // bytes, compressed
	maxPart    = 16 << 20 // bytes of a part
	maxLine    = 64 << 10 // bytes of a record
	maxRecords = 20_000
)

// Record is one line of evidence.
type Record struct {
	Kind string `json:"kind"`
	Data any    `json:"data"`
}

// Capsule is the content of a file that was read. All of it is text from outside.
type Capsule struct {
	Summary string
	Records []Record // Data is a map, as its JSON says
}

// Write writes a capsule.
func Write(w io.Writer, summary string, records []Record) error {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, r := range records {
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("capsule: %s: %w", r.Kind, err)
		}
	}
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	for _, part := range []struct {
		name string
		body []byte
	}{{summaryPart, []byte(summary)}, {recordsPart, lines.Bytes()}} {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: part.name, Mode: 0o600, Size: int64(len(part.body))}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(part.body); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// ErrFormat: the file is no capsule, or exceeds a bound.
var ErrFormat = errors.New("capsule: the file is not a capsule, or is too large for one")

// Read reads a capsule within the bounds.
func Read(r io.Reader) (c Capsule, err error) {
	file := &io.LimitedReader{R: r, N: maxFile + 1}
	z, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return c, ErrFormat
	}
	z.Multistream(false)
	t := tar.NewReader(io.LimitReader(z, 2*maxPart+maxLine))
	for i, want := range []string{summaryPart, recordsPart} {
		h, err := t.Next()
		if err != nil || h.Typeflag != tar.TypeReg || h.Name != want || h.Size < 0 || h.Size > maxPart {
			return Capsule{}, ErrFormat
		}
		b, err := io.ReadAll(io.LimitReader(t, maxPart))
		if err != nil || file.N <= 0 {
			return Capsule{}, ErrFormat
		}
		if i == 0 {
			c.Summary = string(b)
		} else if c.Records, err = parse(b); err != nil {
			return Capsule{}, err
		}
	}
	return c, nil
}

func parse(b []byte) ([]Record, error) {
	var out []Record
	for line := range bytes.Lines(b) {
		var one struct {
			Kind string         `json:"kind"`
			Data map[string]any `json:"data"`
		}
		if len(line) > maxLine || len(out) == maxRecords || json.Unmarshal(line, &one) != nil {
			return nil, ErrFormat
		}
		out = append(out, Record{one.Kind, one.Data})
	}
	return out, nil
}
