package audit

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Version2 is the version of checkpoints that are signed notes; those of Version
// are lines of JSON, which are still read and verified.
const Version2 = 2

// Checkpoint says how the trail stood at a moment.
type Checkpoint struct {
	V     int       `json:"v"`
	Chain string    `json:"chain"`
	N     int64     `json:"n"`    // records
	Head  string    `json:"head"` // hash of record n
	At    time.Time `json:"at"`
	Root  tlog.Hash `json:"-"` // of the Merkle tree over the records; Version has none
}

// Signed is a checkpoint with its signature, as one line of a file.
type Signed struct {
	Checkpoint
	Note string // the signed note; "" for Version
	Line []byte // the exact line, without its end

	key       string // Version: fingerprint of the key that signed
	message   []byte // Version
	signature []byte // Version
}

// signing stands before the bytes of a checkpoint of Version in what is signed.
const signing = "opdeck audit checkpoint v1\n"

const (
	noteOpen = `{"note":"`
	lineOpen = `{"checkpoint":`
	lineKey  = `,"key":"`
	lineSig  = `","sig":"`
	lineEnd  = `"}`
	keyLen   = 16
	tailLen  = len(lineKey) + keyLen + len(lineSig) + 2*ed25519.SignatureSize + len(lineEnd)
)

// errTorn is a last line without its end: a power cut while writing.
var errTorn = errors.New("audit: the last line is torn")

// By reports whether one of the keys signed s.
func (s Signed) By(keys ...ed25519.PublicKey) bool { return s.signer(keys) != "" }

// signer is the fingerprint of the key among keys that signed s, "" for none.
func (s Signed) signer(keys []ed25519.PublicKey) string {
	for _, k := range keys {
		switch {
		case s.Note != "":
			if s.signedBy(k) {
				return Fingerprint(k)
			}
		case Fingerprint(k) == s.key && ed25519.Verify(k, s.message, s.signature):
			return s.key
		}
	}
	return ""
}

// parseSigned reads a line to the letter: nothing may stand anywhere else.
func parseSigned(line []byte) (Signed, error) {
	bad := errors.New("audit: this is not a line of a checkpoint file")
	if bytes.HasPrefix(line, []byte(noteOpen)) {
		s, err := parseNoteLine(line)
		if err != nil {
			return Signed{}, bad
		}
		return s, nil
	}
	if len(line) <= len(lineOpen)+tailLen || !bytes.HasPrefix(line, []byte(lineOpen)) {
		return Signed{}, bad
	}
	body, tail := line[len(lineOpen):len(line)-tailLen], string(line[len(line)-tailLen:])
	key, sig := tail[len(lineKey):len(lineKey)+keyLen], tail[tailLen-len(lineEnd)-2*ed25519.SignatureSize:tailLen-len(lineEnd)]
	raw, err := hex.DecodeString(sig)
	if err != nil || tail != lineKey+key+lineSig+hex.EncodeToString(raw)+lineEnd {
		return Signed{}, bad
	}
	s := Signed{key: key, Line: bytes.Clone(line), message: append([]byte(signing), body...), signature: raw}
	if err := json.Unmarshal(body, &s.Checkpoint); err != nil || s.V != Version {
		return Signed{}, bad
	}
	return s, nil
}

// ReadCheckpoints reads a checkpoint file. A torn last line is left out and
// reported by torn; signatures are not looked at.
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

// maxLine is the longest line that can be a record or a checkpoint, in bytes.
const maxLine = 256 << 10

// lines reads whole lines of bounded length.
type lines struct {
	r *bufio.Reader
	n int64
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, maxLine)} }

// next returns a line without its end, valid until the next call; io.EOF at the
// end, errTorn when the last line has none.
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
