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
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
	"golang.org/x/mod/sumdb/note"
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

// checkpointFiles are the files that hold checkpoints.
type checkpointFiles struct {
	*core
	mu         sync.Mutex
	chain      string // guarded by mu: name of the log, once known
	parsedLast Signed // guarded by mu: the last parsed line of a checkpoint file
}

// CheckpointFile is the path of this Log's own checkpoint file, "" for none. In a folder each log and each key has
// its own.
func (c *checkpointFiles) CheckpointFile(ctx context.Context) (string, error) {
	if !c.signs() {
		return "", nil
	}
	folder, err := c.checkpointFolder()
	if err != nil || folder == "" {
		return c.opt.Checkpoints, err
	}
	chain, err := c.Chain(ctx)
	if err != nil || chain == "" {
		return "", err
	}
	return filepath.Join(folder, "audit-"+chain+"-"+c.fingerprint()+".jsonl"), nil
}

// Chain is the name of the log, "" before its first record. It does not change during the life of a Log.
func (c *checkpointFiles) Chain(ctx context.Context) (string, error) {
	c.mu.Lock()
	chain := c.chain
	c.mu.Unlock()
	if chain != "" {
		return chain, nil
	}
	head, err := c.opt.Store.Head(ctx)
	if err != nil || head.Chain == "" {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chain == "" {
		c.chain = head.Chain
	}
	return c.chain, nil
}

// checkpointFolder is Options.Checkpoints if that is a folder; it is created if the name ends in a separator.
func (c *checkpointFiles) checkpointFolder() (string, error) {
	place := c.opt.Checkpoints
	if place == "" {
		return "", nil
	}
	if strings.HasSuffix(place, string(filepath.Separator)) || strings.HasSuffix(place, "/") {
		if err := os.MkdirAll(place, 0o700); err != nil {
			return "", fmt.Errorf("audit: checkpoints: %w", err)
		}
	}
	if info, err := os.Stat(place); err != nil || !info.IsDir() {
		return "", nil
	}
	return place, nil
}

// otherLogs lists the files of checkpoints that this key signed for other logs: the store may have been replaced.
func (c *checkpointFiles) otherLogs(own string) ([]string, error) {
	folder, err := c.checkpointFolder()
	if err != nil || folder == "" {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(folder, "audit-*-"+c.fingerprint()+".jsonl"))
	if err != nil {
		return nil, fmt.Errorf("audit: checkpoints: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == own }), nil
}

// openCheckpointFile opens a checkpoint file; nil without an error if there is none.
func openCheckpointFile(name string) (*os.File, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("audit: checkpoints: %w", err)
	}
	return f, nil
}

// readCheckpointFile reads a checkpoint file; a missing one is empty.
func readCheckpointFile(name string) ([]Signed, error) {
	f, err := openCheckpointFile(name)
	if f == nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	list, _, err := ReadCheckpoints(f)
	return list, err
}

// checkpointNow signs the end of the trail unless that is done, and returns the checkpoint.
func (s *Signer) checkpointNow(ctx context.Context) (Signed, error) {
	if err := s.Checkpoint(ctx); err != nil {
		return Signed{}, err
	}
	return s.lastCheckpoint(ctx)
}

// lastCheckpoint returns the newest checkpoint in the checkpoint file; the zero Signed if there is none. It ignores a
// line that another process is writing.
func (c *checkpointFiles) lastCheckpoint(ctx context.Context) (Signed, error) {
	name, err := c.CheckpointFile(ctx)
	if err != nil || name == "" {
		return Signed{}, err
	}
	f, err := openCheckpointFile(name)
	if f == nil {
		return Signed{}, err
	}
	defer func() { _ = f.Close() }()
	line, _, _, err := tailOf(f)
	if err != nil || len(line) == 0 {
		return Signed{}, err
	}
	return c.parsed(line)
}

// parsed is parseSigned with a cache of one line, since the last line rarely changes.
func (c *checkpointFiles) parsed(line []byte) (Signed, error) {
	c.mu.Lock()
	last := c.parsedLast
	c.mu.Unlock()
	if bytes.Equal(line, last.Line) {
		return last, nil
	}
	s, err := parseSigned(line)
	if err != nil {
		return Signed{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parsedLast = s
	return s, nil
}

// tailSize is how much is read of the end of a checkpoint file, in bytes. A line is shorter.
const tailSize = 8 << 10

// tailOf returns the last complete line of a checkpoint file, without its end, the offset after it, and the size of
// the file.
func tailOf(f interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}) (last []byte, end, size int64, err error) {
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
	return whole[bytes.LastIndexByte(whole, '\n')+1:], end, info.Size(), nil
}

// addPoint appends a checkpoint to a checkpoint file durably, if want agrees, given the last one, and returns the one
// that is the last now. It first cuts off a torn line.
func (c *checkpointFiles) addPoint(name string, s Signed, want func(last Signed) bool) (last Signed, err error) {
	fail := func(err error) (Signed, error) {
		return Signed{}, fmt.Errorf("audit: the checkpoint could not be written: %w", err)
	}
	file, err := lockedfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = file.Close() }()
	lastLine, end, size, err := tailOf(file)
	if err != nil {
		return Signed{}, err
	}
	if len(lastLine) > 0 {
		if last, err = c.parsed(lastLine); err != nil {
			return Signed{}, err
		}
	}
	if !want(last) {
		return last, nil
	}
	if end < size {
		if err := file.Truncate(end); err != nil {
			return fail(err)
		}
	}
	if _, err := file.WriteAt(append(bytes.Clone(s.Line), '\n'), end); err != nil {
		return fail(err)
	}
	if err := file.Sync(); err != nil {
		return fail(err)
	}
	return s, nil
}

// A checkpoint is a signed note (c2sp.org/tlog-checkpoint):
//
//	opdeck.audit/<chain>
//	<number of records>
//	<root hash of the Merkle tree over their bytes, base64>
//	head <hash of the last record in the chain, hex>
//	time <when, RFC 3339>
//
//	— opdeck.audit/<chain> <signature>

// originPrefix precedes the chain in the first line of a checkpoint.
const originPrefix = "opdeck.audit/"

// timeForm is the time format of a checkpoint: UTC, ms.
const timeForm = "2006-01-02T15:04:05.000Z"

// origin is the name of a log in its checkpoints and in the note keys of its signers.
func origin(chain string) string { return originPrefix + chain }

var errNoNote = errors.New("audit: this is not a checkpoint")

// text is the signed text of a checkpoint.
func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\nhead %s\ntime %s\n", origin(c.Chain), c.N, c.Root, c.Head, c.At.UTC().Format(timeForm))
}

// parseText parses the text of a checkpoint, which must be exact.
func parseText(text string) (c Checkpoint, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 6 {
		return c, errNoNote
	}
	var ok [3]bool
	c.Chain, ok[0] = strings.CutPrefix(lines[0], originPrefix)
	c.Head, ok[1] = strings.CutPrefix(lines[3], "head ")
	at, found := strings.CutPrefix(lines[4], "time ")
	ok[2] = found
	if ok != [3]bool{true, true, true} {
		return c, errNoNote
	}
	if c.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil || c.N < 1 {
		return c, errNoNote
	}
	if c.Root, err = tlog.ParseHash(lines[2]); err != nil {
		return c, errNoNote
	}
	if c.At, err = time.Parse(timeForm, at); err != nil {
		return c, errNoNote
	}
	if raw, err := hex.DecodeString(c.Head); err != nil || len(raw) != sha256.Size {
		return c, errNoNote
	}
	if c.text() != text {
		return c, errNoNote
	}
	return c, nil
}

// verifierKey is the key in the format of package note.
func verifierKey(name string, pub ed25519.PublicKey) string {
	v, err := note.NewEd25519VerifierKey(name, pub)
	if err != nil {
		return "" // wrong key length
	}
	return v
}

// VerifierKey is the public key for the log of that name, in the format of tools for signed notes.
func (k *Key) VerifierKey(chain string) string { return verifierKey(origin(chain), k.Public()) }

// noteSigner signs with a Key under a name.
type noteSigner struct {
	note.Verifier
	key *Key
}

// Sign implements note.Signer.
func (s noteSigner) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(s.key.private, msg), nil }

// signNote signs c.
func (k *Key) signNote(c Checkpoint) (Signed, error) {
	v, err := note.NewVerifier(k.VerifierKey(c.Chain))
	if err != nil {
		return Signed{}, fmt.Errorf("audit: checkpoint: %w", err)
	}
	b, err := note.Sign(&note.Note{Text: c.text()}, noteSigner{v, k})
	if err != nil {
		return Signed{}, fmt.Errorf("audit: checkpoint: %w", err)
	}
	return Signed{Checkpoint: c, Note: string(b), Line: noteLine(string(b))}, nil
}

// ParseCheckpoint parses a checkpoint, a note with one signature, which must be exact. By verifies the signature.
func ParseCheckpoint(text string) (Signed, error) {
	_, err := note.Open([]byte(text), note.VerifierList())
	var unverified *note.UnverifiedNoteError
	if !errors.As(err, &unverified) {
		return Signed{}, errNoNote
	}
	n, s := unverified.Note, Signed{Note: text}
	if s.Checkpoint, err = parseText(n.Text); err != nil {
		return Signed{}, err
	}
	if len(n.UnverifiedSigs) != 1 || n.Text+"\n"+sigLine(n.UnverifiedSigs[0]) != text {
		return Signed{}, errNoNote // a second signature, another spelling, an unsigned line
	}
	if _, err := base64.StdEncoding.Strict().DecodeString(n.UnverifiedSigs[0].Base64); err != nil {
		return Signed{}, errNoNote // another spelling of the same bytes
	}
	s.Line = noteLine(text)
	return s, nil
}

func sigLine(sig note.Signature) string { return "— " + sig.Name + " " + sig.Base64 + "\n" }

// signedBy reports whether key signed the note.
func (s Signed) signedBy(key ed25519.PublicKey) bool {
	v, err := note.NewVerifier(verifierKey(origin(s.Chain), key))
	if err != nil {
		return false
	}
	n, err := note.Open([]byte(s.Note), note.VerifierList(v))
	return err == nil && len(n.Sigs) == 1
}

// noteAlgorithm precedes the bytes of an Ed25519 key in a note key.
const noteAlgorithm = 1

// splitKey splits a note key.
func splitKey(s string) (name string, pub ed25519.PublicKey, err error) {
	name, rest, _ := strings.Cut(s, "+")
	short, long, _ := strings.Cut(rest, "+")
	h, err := hex.DecodeString(short)
	if err != nil || len(h) != 4 || !plainName(name) {
		return "", nil, errors.New("it does not have the form name+hash+key")
	}
	raw, err := base64.StdEncoding.DecodeString(long)
	if err != nil || len(raw) != 1+ed25519.PublicKeySize || raw[0] != noteAlgorithm {
		return "", nil, errors.New("it is not such an Ed25519 key")
	}
	return name, raw[1:], nil
}

// plainName reports whether a name is allowed in a note.
func plainName(name string) bool {
	return name != "" && len(name) <= 200 && plain(name) && !strings.ContainsAny(name, " +")
}

// ReadVerifierKey parses a public key in the form name+hash+key, with the log that it signs.
func ReadVerifierKey(s string) (pub ed25519.PublicKey, chain string, err error) {
	name, pub, err := splitKey(s)
	if err != nil {
		return nil, "", fmt.Errorf("audit: not a key for checkpoints: %w", err)
	}
	chain, ok := strings.CutPrefix(name, originPrefix)
	if !ok || verifierKey(name, pub) != s {
		return nil, "", errors.New("audit: not a key for checkpoints of this program: its parts do not match")
	}
	return pub, chain, nil
}

// noteLine is the line of a note in a checkpoint file.
func noteLine(text string) []byte {
	var b bytes.Buffer
	b.WriteString(noteOpen)
	b.WriteString(strings.ReplaceAll(text, "\n", `\n`)) // nothing else in it needs escaping
	b.WriteString(lineEnd)
	return b.Bytes()
}
