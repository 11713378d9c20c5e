package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
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

// originPrefix stands before the chain in the first line of a checkpoint.
const originPrefix = "opdeck.audit/"

// timeForm is how a checkpoint writes its time: UTC, ms.
const timeForm = "2006-01-02T15:04:05.000Z"

// origin is the name of a log in its checkpoints and in the note keys of those
// that sign for it.
func origin(chain string) string { return originPrefix + chain }

var errNoNote = errors.New("audit: this is not a checkpoint")

// text is what is signed of a checkpoint.
func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\nhead %s\ntime %s\n", origin(c.Chain), c.N, c.Root, c.Head, c.At.UTC().Format(timeForm))
}

// parseText reads the text of a checkpoint to the letter.
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
	if c.V = Version2; c.text() != text {
		return c, errNoNote
	}
	return c, nil
}

// verifierKey is the key in the form that package note reads.
func verifierKey(name string, pub ed25519.PublicKey) string {
	v, err := note.NewEd25519VerifierKey(name, pub)
	if err != nil {
		return "" // the key has another length
	}
	return v
}

// VerifierKey is the public key as tools for signed notes read it, for the log
// with that name.
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
	c.V = Version2
	return Signed{Checkpoint: c, Note: string(b), Line: noteLine(string(b))}, nil
}

// ParseCheckpoint reads a checkpoint that is a signed note, to the letter. Its
// signatures are for By and Cosignatures to check.
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
	exact := n.Text + "\n"
	for _, sig := range n.UnverifiedSigs {
		raw, err := base64.StdEncoding.DecodeString(sig.Base64)
		if err != nil || base64.StdEncoding.EncodeToString(raw) != sig.Base64 {
			return Signed{}, errNoNote
		}
		exact += sigLine(sig.Name, raw)
	}
	if exact != text { // signatures twice, another spelling
		return Signed{}, errNoNote
	}
	s.Line = noteLine(text)
	return s, nil
}

func sigLine(name string, raw []byte) string {
	return "— " + name + " " + base64.StdEncoding.EncodeToString(raw) + "\n"
}

// signedBy reports whether key signed the note.
func (s Signed) signedBy(key ed25519.PublicKey) bool {
	v, err := note.NewVerifier(verifierKey(origin(s.Chain), key))
	if err != nil {
		return false
	}
	n, err := note.Open([]byte(s.Note), note.VerifierList(v))
	return err == nil && len(n.Sigs) == 1
}

// Cosigner is the public key of a witness: it verifies the timestamped
// signatures (c2sp.org/tlog-cosignature) that a witness puts under a checkpoint.
type Cosigner struct {
	name string
	hash uint32
	pub  ed25519.PublicKey
}

// cosignAlg is the kind of key and signature of a witness.
const cosignAlg = 4

// cosignHash is the short name of a witness's key.
func cosignHash(name string, pub ed25519.PublicKey) uint32 {
	h := sha256.New()
	h.Write([]byte(name + "\n"))
	h.Write([]byte{cosignAlg})
	h.Write(pub)
	return binary.BigEndian.Uint32(h.Sum(nil))
}

// ReadCosigner reads the key of a witness: name+hash+key, as opdeck audit
// witness prints it.
func ReadCosigner(s string) (*Cosigner, error) {
	name, hash, pub, err := splitKey(s, cosignAlg)
	if err != nil {
		return nil, fmt.Errorf("audit: not the key of a witness: %w", err)
	}
	c := &Cosigner{name: name, hash: cosignHash(name, pub), pub: pub}
	if c.hash != hash {
		return nil, errors.New("audit: not the key of a witness: its parts do not belong together")
	}
	return c, nil
}

// splitKey takes a note key apart.
func splitKey(s string, alg byte) (name string, hash uint32, pub ed25519.PublicKey, err error) {
	name, rest, _ := strings.Cut(s, "+")
	short, long, _ := strings.Cut(rest, "+")
	h, err := hex.DecodeString(short)
	if err != nil || len(h) != 4 || !plainName(name) {
		return "", 0, nil, errors.New("it has not the form name+hash+key")
	}
	raw, err := base64.StdEncoding.DecodeString(long)
	if err != nil || len(raw) != 1+ed25519.PublicKeySize || raw[0] != alg {
		return "", 0, nil, errors.New("it is no such Ed25519 key")
	}
	return name, binary.BigEndian.Uint32(h), raw[1:], nil
}

// plainName reports whether a name can stand in a note.
func plainName(name string) bool {
	return name != "" && len(name) <= 200 && plain(name) && !strings.ContainsAny(name, " +")
}

// Name implements note.Verifier.
func (c *Cosigner) Name() string { return c.name }

// KeyHash implements note.Verifier.
func (c *Cosigner) KeyHash() uint32 { return c.hash }

// Verify implements note.Verifier.
func (c *Cosigner) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(sig)
	return ed25519.Verify(c.pub, cosigned(at, string(msg)), sig[8:])
}

// cosigned is what a witness signs.
func cosigned(at uint64, text string) []byte {
	return fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, text)
}

// Cosignature is that of one witness under a checkpoint.
type Cosignature struct {
	Name string
	At   time.Time
}

// Cosignatures are the good ones of the witnesses in list.
func (s Signed) Cosignatures(list []*Cosigner) []Cosignature {
	var out []Cosignature
	if s.Note == "" {
		return nil
	}
	for _, c := range list {
		n, err := note.Open([]byte(s.Note), note.VerifierList(c))
		if err != nil || len(n.Sigs) != 1 {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(n.Sigs[0].Base64)
		if err != nil || len(raw) < 12 {
			continue
		}
		out = append(out, Cosignature{Name: c.name, At: time.Unix(int64(binary.BigEndian.Uint64(raw[4:])), 0).UTC()})
	}
	return out
}

// miscosigned names a witness in list whose signature is there and not good; ""
// for none.
func (s Signed) miscosigned(list []*Cosigner) string {
	for _, c := range list {
		var bad *note.InvalidSignatureError
		if _, err := note.Open([]byte(s.Note), note.VerifierList(c)); errors.As(err, &bad) {
			return c.name
		}
	}
	return ""
}

// Cosign signs a checkpoint as the witness with that name and returns the
// signature's line.
func (k *Key) Cosign(name string, s Signed, at time.Time) string {
	sec := uint64(at.Unix())
	raw := binary.BigEndian.AppendUint32(nil, cosignHash(name, k.Public()))
	raw = binary.BigEndian.AppendUint64(raw, sec)
	raw = append(raw, ed25519.Sign(k.private, cosigned(sec, s.text()))...)
	return sigLine(name, raw)
}

// CosignerKey is the public key of a witness with that name.
func (k *Key) CosignerKey(name string) (string, error) {
	if !plainName(name) {
		return "", errors.New("audit: the name of a witness has no spaces and no +")
	}
	return fmt.Sprintf("%s+%08x+%s", name, cosignHash(name, k.Public()),
		base64.StdEncoding.EncodeToString(append([]byte{cosignAlg}, k.Public()...))), nil
}

// ReadVerifierKey reads a key that signs checkpoints in the form name+hash+key,
// and the log that it is for.
func ReadVerifierKey(s string) (pub ed25519.PublicKey, chain string, err error) {
	name, _, pub, err := splitKey(s, 1)
	if err != nil {
		return nil, "", fmt.Errorf("audit: not a key for checkpoints: %w", err)
	}
	chain, ok := strings.CutPrefix(name, originPrefix)
	if !ok || verifierKey(name, pub) != s {
		return nil, "", errors.New("audit: not a key for checkpoints of this program: its parts do not belong together")
	}
	return pub, chain, nil
}

// noteLine is the line of a checkpoint file that holds a note.
func noteLine(text string) []byte {
	var b bytes.Buffer
	b.WriteString(noteOpen)
	b.WriteString(strings.ReplaceAll(text, "\n", `\n`)) // nothing else in it needs an escape
	b.WriteString(lineEnd)
	return b.Bytes()
}

// parseNoteLine reads such a line to the letter.
func parseNoteLine(line []byte) (Signed, error) {
	body := strings.TrimSuffix(strings.TrimPrefix(string(line), noteOpen), lineEnd)
	s, err := ParseCheckpoint(strings.ReplaceAll(body, `\n`, "\n"))
	if err != nil || !bytes.Equal(s.Line, line) {
		return Signed{}, errNoNote
	}
	return s, nil
}
