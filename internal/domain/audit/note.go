package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

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
