package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/mod/sumdb/note"
)

// Checkpoint is the signed state of the trail at a time, a signed note (c2sp.org/signed-note):
//
//	opdeck.audit/<chain>
//	<number of records>
//	<root, base64>
//	head <hash of the last record, hex>
//	time <when, RFC 3339>
//
//	— opdeck.audit/<chain> <signature>
//
// The root is the same hash as head; older programs wrote that of a Merkle tree there, which is not looked at.
type Checkpoint struct {
	Chain string
	N     int64     // records
	Head  string    // hash of record n
	At    time.Time // UTC, ms
	Root  string
}

// Signed is a checkpoint with its signature.
type Signed struct {
	Checkpoint
	Note string // the signed note
	Line []byte // its line in a checkpoint file, without the line end
}

// timeForm is the time format of a checkpoint: UTC, ms.
const timeForm = "2006-01-02T15:04:05.000Z"

// checkpointOf is the checkpoint of the trail up to head.
func checkpointOf(head Head, at time.Time) Checkpoint {
	raw, _ := hex.DecodeString(head.Hash)
	return Checkpoint{Chain: head.Chain, N: head.N, Head: head.Hash, At: at.UTC().Truncate(time.Millisecond),
		Root: base64.StdEncoding.EncodeToString(raw)}
}

// text is the signed text of a checkpoint.
func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\nhead %s\ntime %s\n", originPrefix+c.Chain, c.N, c.Root, c.Head,
		c.At.UTC().Format(timeForm))
}

var errNoNote = errors.New("audit: this is not a checkpoint")

// parseText parses the text of a checkpoint, which must be exact.
func parseText(text string) (c Checkpoint, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 6 {
		return c, errNoNote
	}
	c.Chain = strings.TrimPrefix(lines[0], originPrefix)
	c.N, err = strconv.ParseInt(lines[1], 10, 64)
	c.Root, c.Head = lines[2], strings.TrimPrefix(lines[3], "head ")
	at, timeErr := time.Parse("time "+timeForm, lines[4])
	c.At = at
	root, rootErr := base64.StdEncoding.Strict().DecodeString(c.Root)
	head, headErr := hex.DecodeString(c.Head)
	if errors.Join(err, timeErr, rootErr, headErr) != nil || c.N < 1 || len(root) != sha256.Size ||
		len(head) != sha256.Size || c.text() != text {
		return Checkpoint{}, errNoNote
	}
	return c, nil
}

// ParseCheckpoint parses a checkpoint, a note with one signature, which must be exact. By verifies the signature.
func ParseCheckpoint(text string) (Signed, error) {
	_, err := note.Open([]byte(text), note.VerifierList())
	var unverified *note.UnverifiedNoteError
	if !errors.As(err, &unverified) || len(unverified.Note.UnverifiedSigs) != 1 {
		return Signed{}, errNoNote
	}
	n := unverified.Note
	s := Signed{Note: text, Line: noteLine(text)}
	if s.Checkpoint, err = parseText(n.Text); err != nil {
		return Signed{}, err
	}
	sig := n.UnverifiedSigs[0]
	if _, err := base64.StdEncoding.Strict().DecodeString(sig.Base64); err != nil ||
		n.Text+"\n— "+sig.Name+" "+sig.Base64+"\n" != text {
		return Signed{}, errNoNote // another spelling, an unsigned line
	}
	return s, nil
}

// By reports whether one of the keys signed s.
func (s Signed) By(keys ...ed25519.PublicKey) bool { return s.signer(keys) != "" }

// signer is the fingerprint of the key among keys that signed s, "" for none.
func (s Signed) signer(keys []ed25519.PublicKey) string {
	for _, key := range keys {
		v, err := note.NewVerifier(verifierKey(s.Chain, key))
		if err != nil {
			continue
		}
		if n, err := note.Open([]byte(s.Note), note.VerifierList(v)); err == nil && len(n.Sigs) == 1 {
			return Fingerprint(key)
		}
	}
	return ""
}

// The text around the note in a line of a checkpoint file.
const (
	noteOpen = `{"note":"`
	lineEnd  = `"}`
)

// noteLine is the line of a note in a checkpoint file. Nothing but line ends needs escaping in a note.
func noteLine(text string) []byte {
	return []byte(noteOpen + strings.ReplaceAll(text, "\n", `\n`) + lineEnd)
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

// ReadCheckpoints reads a checkpoint file. torn: it ends with a torn line, because of a crash while writing, which is
// omitted. Signatures are not verified.
func ReadCheckpoints(r io.Reader) (list []Signed, torn bool, err error) {
	in := bufio.NewReaderSize(r, tailSize)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case err == io.EOF:
			return list, len(line) > 0, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return list, false, fmt.Errorf("audit: line %d is longer than any checkpoint", len(list)+1)
		case err != nil:
			return list, false, fmt.Errorf("audit: checkpoints: %w", err)
		}
		s, err := parseSigned(bytes.Clone(line[:len(line)-1]))
		if err != nil {
			return list, false, fmt.Errorf("%w (line %d)", err, len(list)+1)
		}
		list = append(list, s)
	}
}

// readCheckpointFile is ReadCheckpoints of a file; a missing one is fs.ErrNotExist.
func readCheckpointFile(name string) (list []Signed, torn bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	return ReadCheckpoints(f)
}

// checkpointFile is the path of the checkpoints that a key signed for a log. Each log and each key has a file of its
// own.
func (c *core) checkpointFile(chain, key string) string {
	return filepath.Join(c.opt.Checkpoints, "audit-"+chain+"-"+key+".jsonl")
}

// Chain is the name of the log, "" before its first record.
func (c *core) Chain(ctx context.Context) (string, error) {
	head, err := c.opt.Store.Head(ctx)
	return head.Chain, err
}

// otherLogs lists the files of checkpoints that this key signed for other logs: the store may have been replaced.
func (c *core) otherLogs(chain string) ([]string, error) {
	names, err := filepath.Glob(c.checkpointFile("*", c.fingerprint()))
	if err != nil {
		return nil, fmt.Errorf("audit: checkpoints: %w", err)
	}
	own := c.checkpointFile(chain, c.fingerprint())
	return slices.DeleteFunc(names, func(name string) bool { return name == own }), nil
}

// lastCheckpoint returns the newest checkpoint of this key in the file of a log; the zero Signed if there is none. It
// ignores a line that another process is writing.
func (c *core) lastCheckpoint(chain string) (Signed, error) {
	f, err := os.Open(c.checkpointFile(chain, c.fingerprint()))
	if errors.Is(err, fs.ErrNotExist) {
		return Signed{}, nil
	}
	if err != nil {
		return Signed{}, fmt.Errorf("audit: checkpoints: %w", err)
	}
	defer func() { _ = f.Close() }()
	s, _, _, err := lastLine(f)
	return s, err
}

// tailSize is how much is read of the end of a checkpoint file, in bytes. A line is shorter.
const tailSize = 8 << 10

// lastLine returns the last complete line of a checkpoint file, the offset after it, and the size of the file.
func lastLine(f interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}) (last Signed, end, size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return last, 0, 0, fmt.Errorf("audit: checkpoints: %w", err)
	}
	from := max(0, info.Size()-tailSize)
	b := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(b, from); err != nil && err != io.EOF {
		return last, 0, 0, fmt.Errorf("audit: checkpoints: %w", err)
	}
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	end = from + int64(len(whole))
	whole = bytes.TrimSuffix(whole, []byte("\n"))
	if line := whole[bytes.LastIndexByte(whole, '\n')+1:]; len(line) > 0 {
		last, err = parseSigned(line)
	}
	return last, end, info.Size(), err
}

// addCheckpoint appends s to the file of its log and key durably, if want agrees, given the last line. It first cuts
// off a torn line.
func (c *core) addCheckpoint(s Signed, want func(last Signed) bool) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("audit: the checkpoint could not be written: %w", err)
		}
	}()
	file, err := lockedfile.OpenFile(c.checkpointFile(s.Chain, c.fingerprint()), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	last, end, size, err := lastLine(file)
	if err != nil || !want(last) {
		return err
	}
	if end < size {
		if err := file.Truncate(end); err != nil {
			return err
		}
	}
	if _, err := file.WriteAt(append(bytes.Clone(s.Line), '\n'), end); err != nil {
		return err
	}
	return file.Sync()
}
