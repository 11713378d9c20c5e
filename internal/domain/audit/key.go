package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"opdeck/internal/system/wholefile"
)

// maxKeyFile bounds a key file, in bytes.
const maxKeyFile = 4096

// Key signs checkpoints. The zero Key cannot be used.
type Key struct{ private ed25519.PrivateKey }

// NewKey makes a Key from a seed of 32 bytes.
func NewKey(seed []byte) (*Key, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("audit: the seed of a key has %d bytes, not %d", len(seed), ed25519.SeedSize)
	}
	return &Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// CreateKey creates the key file with mode 0600 and returns its key; that of a file that another process has created
// meanwhile. made: this call created it.
func CreateKey(file string) (k *Key, made bool, err error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, false, fmt.Errorf("audit: key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, false, fmt.Errorf("audit: key: %w", err)
	}
	switch err := wholefile.Create(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})); {
	case errors.Is(err, fs.ErrExist):
		k, err := ReadKey(file)
		return k, false, err
	case err != nil:
		return nil, false, fmt.Errorf("audit: key: %w", err)
	}
	return &Key{private}, true, nil
}

// ReadKey reads the key in file (PEM, PKCS 8); fs.ErrNotExist when there is none. A key that is missing is never
// replaced here: the checkpoints of a trail need the key that signed them.
func ReadKey(file string) (*Key, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, fmt.Errorf("audit: key: %w", err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("audit: the key %s is not a plain file", file)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("audit: the key %s can be read by others (mode %04o): run chmod 600 on it", file,
			info.Mode().Perm())
	case info.Size() > maxKeyFile:
		return nil, fmt.Errorf("audit: %s is too large for a key", file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("audit: key: %w", err)
	}
	block, _ := pem.Decode(b)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("audit: %s contains no private key in PEM form", file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("audit: the key %s cannot be read", file) // the cause may contain parts of the key
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("audit: the key %s is not an Ed25519 key", file)
	}
	return &Key{private}, nil
}

// Public is the public key.
func (k *Key) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// Trusted is the key of another host that signs for the same store.
type Trusted struct {
	Chain string // the log that it signs
	Key   ed25519.PublicKey
}

// Fingerprint is a short name for a public key.
func Fingerprint(pub ed25519.PublicKey) string {
	s := sha256.Sum256(pub)
	return hex.EncodeToString(s[:8])
}

// originPrefix precedes the chain in the first line of a checkpoint and in the names of keys.
const originPrefix = "opdeck.audit/"

// VerifierKey is the public key for the log of that name, in the format of tools for signed notes.
func (k *Key) VerifierKey(chain string) string { return verifierKey(chain, k.Public()) }

func verifierKey(chain string, pub ed25519.PublicKey) string {
	v, err := note.NewEd25519VerifierKey(originPrefix+chain, pub)
	if err != nil {
		return "" // wrong key length
	}
	return v
}

// ReadVerifierKey parses a public key in the form name+hash+key, with the log that it signs.
func ReadVerifierKey(s string) (pub ed25519.PublicKey, chain string, err error) {
	v, err := note.NewVerifier(s)
	if err != nil {
		return nil, "", errors.New("audit: not a key for checkpoints: it does not have the form name+hash+key")
	}
	long := strings.SplitN(s, "+", 3)[2]
	raw, err := base64.StdEncoding.DecodeString(long)
	if err != nil {
		return nil, "", fmt.Errorf("audit: not a key for checkpoints: %w", err)
	}
	chain, ok := strings.CutPrefix(v.Name(), originPrefix)
	if !ok || verifierKey(chain, raw[1:]) != s { // one byte for the algorithm
		return nil, "", errors.New("audit: not a key for checkpoints of this program: its parts do not match")
	}
	return raw[1:], chain, nil
}

// noteSigner signs with a Key under a name.
type noteSigner struct {
	note.Verifier
	key *Key
}

// Sign implements note.Signer.
func (s noteSigner) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(s.key.private, msg), nil }

// sign signs c.
func (k *Key) sign(c Checkpoint) (Signed, error) {
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
