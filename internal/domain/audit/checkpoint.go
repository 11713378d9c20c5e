package audit

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Checkpoint is the signed state of the trail at a time.
type Checkpoint struct {
	Chain string
	N     int64     // records
	Head  string    // hash of record n
	At    time.Time // ms
	Root  tlog.Hash // of the Merkle tree over the records
}

// Signed is a checkpoint with its signature.
type Signed struct {
	Checkpoint
	Note string // the signed note
	Line []byte // its line in a checkpoint file, without the line end
}

// The text around the note in a line of a checkpoint file.
const (
	noteOpen = `{"note":"`
	lineEnd  = `"}`
)

// errTorn: the last line has no end, because of a crash while writing.
var errTorn = errors.New("audit: the last line is torn")

// By reports whether one of the keys signed s.
func (s Signed) By(keys ...ed25519.PublicKey) bool { return s.signer(keys) != "" }

// signer is the fingerprint of the key among keys that signed s, "" for none.
func (s Signed) signer(keys []ed25519.PublicKey) string {
	for _, k := range keys {
		if s.signedBy(k) {
			return Fingerprint(k)
		}
	}
	return ""
}

// parseSigned parses a line, which must be exact.
func parseSigned(line []byte) (Signed, error) {
	body := strings.TrimSuffix(strings.TrimPrefix(string(line), noteOpen), lineEnd)
	s, err := ParseCheckpoint(strings.ReplaceAll(body, `\n`, "\n"))
	if err != nil || !bytes.Equal(s.Line, line) {
		return Signed{}, errors.New("audit: this is not a line of a checkpoint file")
	}
	return s, nil
}

// ReadCheckpoints reads a checkpoint file. torn: it ends with a torn line, which is omitted. Signatures are not
// verified.
func ReadCheckpoints(r io.Reader) (list []Signed, torn bool, err error) {
	lines := newLines(r)
	for {
		line, err := lines.next()
		switch {
		case err == io.EOF:
			return list, false, nil
		case errors.Is(err, errTorn):
			return list, true, nil
		case err != nil:
			return list, false, err
		}
		s, err := parseSigned(line)
		if err != nil {
			return list, false, fmt.Errorf("%w (line %d)", err, lines.n)
		}
		list = append(list, s)
	}
}

// maxLine is the longest possible line of a record or a checkpoint, in bytes.
const maxLine = 256 << 10

// lines reads whole lines of bounded length.
type lines struct {
	r *bufio.Reader
	n int64
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, maxLine)} }

// next returns a line without its end, valid until the next call; io.EOF at the end, errTorn if the last line has no
// end.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	l.n++
	switch {
	case err == nil:
		return line[:len(line)-1], nil
	case err == io.EOF && len(line) == 0:
		return nil, io.EOF
	case err == io.EOF:
		return line, errTorn
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("audit: line %d is longer than any record", l.n)
	}
	return nil, fmt.Errorf("audit: %w", err)
}
