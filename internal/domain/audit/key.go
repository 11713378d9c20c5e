package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

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
// meanwhile. made: this call created it, so show the public key.
func CreateKey(file string) (k *Key, made bool, err error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := rand.Read(seed); err != nil {
		return nil, false, fmt.Errorf("audit: %w", err)
	}
	if k, err = NewKey(seed); err != nil {
		return nil, false, err
	}
	if made, err = k.write(file); err == nil && !made {
		k, err = ReadKey(file)
	}
	return k, made, err
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

// write writes the complete key, unless the file exists.
func (k *Key) write(file string) (made bool, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return false, fmt.Errorf("audit: %w", err)
	}
	switch err := wholefile.Create(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("audit: key: %w", err)
	}
	return true, nil
}

// Public is the public key.
func (k *Key) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// PublicPEM is the public key as a PEM file.
func (k *Key) PublicPEM() string {
	der, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		panic("audit: an Ed25519 key cannot be encoded: " + err.Error()) // cannot happen
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// ReadPublic reads the public keys in a file, one or more: in PEM form, and as lines of name+hash+key. A key in both
// forms counts once.
func ReadPublic(r io.Reader) ([]ed25519.PublicKey, error) {
	rest, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("audit: public key: %w", err)
	}
	var keys []ed25519.PublicKey
	for line := range strings.Lines(string(rest)) {
		if key, _, err := ReadVerifierKey(strings.TrimSpace(line)); err == nil {
			keys = append(keys, key)
		}
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("audit: public key: %w", err)
		}
		key, ok := parsed.(ed25519.PublicKey)
		if !ok {
			return nil, errors.New("audit: the public key is not an Ed25519 key")
		}
		if !slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(key) }) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("audit: no public key, in PEM form or as one line")
	}
	return keys, nil
}

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
