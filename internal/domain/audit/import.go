package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Segment is a file with records that an older program moved out of the store: a line for each, followed by a
// checkpoint. Segments are contiguous and begin with record 1.
type Segment struct {
	First, Last int64  // records
	Hash        string // of the last one
	File        string // its name
	Folder      string // where it was written
	Host        string // the host that wrote it
}

// Import stores the records of the segments whose files are here and hold what was archived, and says which ones are
// missing; "" for none. The files are in folder, or, if that is "", where they were written.
func (pr *Prover) Import(ctx context.Context, folder string) (missing string, err error) {
	list, err := pr.opt.Store.Segments(ctx)
	if err != nil {
		return "", err
	}
	var bad []string
	for _, s := range list {
		if folder != "" {
			s.Folder = folder
		}
		prev := zeroHash
		if s.First > 1 {
			before, err := pr.opt.Store.Rows(ctx, s.First-1, 1)
			if err != nil {
				return "", err
			}
			prev = ""
			if len(before) == 1 && before[0].Seq == s.First-1 {
				prev = before[0].Hash
			}
		}
		rows, err := s.read(prev)
		if err != nil {
			bad = append(bad, fmt.Sprintf("records %d to %d are not in the store: host %s archived them in %s: %v; put the "+
				"file there", s.First, s.Last, s.Host, filepath.Join(s.Folder, s.File), err))
			continue
		}
		if err := pr.opt.Store.Import(ctx, s, rows); err != nil {
			return "", err
		}
	}
	return strings.Join(bad, "; "), nil
}

// read reads the records of a segment and checks that they continue prev, unless that is "", and end with Hash.
func (s Segment) read(prev string) (rows []Row, err error) {
	f, err := os.Open(filepath.Join(s.Folder, s.File))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReader(f)
	for seq := s.First; seq <= s.Last; seq++ {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		row, r, ok := parseLine(line)
		if !ok || r.Seq != seq || prev != "" && r.Prev != prev {
			return nil, fmt.Errorf("record %d is not as it was written", seq)
		}
		prev = row.Hash
		rows = append(rows, row)
	}
	if prev != s.Hash {
		return nil, errors.New("it does not hold what was archived")
	}
	return rows, nil
}

// parseLine reads a line of a segment: {"hash":"…","record":…}, with the exact bytes of the record.
func parseLine(line []byte) (row Row, r Record, ok bool) {
	const open, mid, end = `{"hash":"`, `","record":`, "}\n"
	from := len(open) + 2*sha256.Size + len(mid)
	if len(line) <= from+len(end) || !bytes.HasPrefix(line, []byte(open)) || !bytes.HasSuffix(line, []byte(end)) ||
		string(line[from-len(mid):from]) != mid {
		return row, r, false
	}
	b := line[from : len(line)-len(end)]
	if Hash(b) != string(line[len(open):from-len(mid)]) || json.Unmarshal(b, &r) != nil {
		return row, r, false
	}
	return r.rowOf(b), r, true
}
