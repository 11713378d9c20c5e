package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"opdeck/api/secret"
	"opdeck/api/session"
)

// errUnsealed: a sealed token is not the one stored there, because of another key, row or generation, or changed
// bytes.
var errUnsealed = errors.New("store: a stored token cannot be unsealed")

// sealVersion is part of the associated data.
const sealVersion = 1

// Sealer seals tokens with AES-256-GCM under random nonces.
type Sealer struct {
	key  Key
	aead cipher.AEAD
}

// New returns a sealer with keys derived from key.
func New(key Key) (*Sealer, error) {
	if key.master == nil {
		return nil, errors.New("store: sessions need a key")
	}
	block, err := aes.NewCipher(key.derive("opdeck session tokens v1"))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{key: key, aead: aead}, nil
}

// Place identifies the row of a token; the seal opens nowhere else.
type Place struct {
	Token       string // access or refresh
	Key         session.Key
	Incarnation string
	Gen         int64
}

// data is the associated data: every part with its length.
func (p Place) data() []byte {
	b := []byte{sealVersion}
	for _, part := range []string{p.Token, p.Key.BaseURL, p.Key.Account, p.Incarnation} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return binary.AppendVarint(b, p.Gen)
}

// Seal returns nil for an empty token.
func (s *Sealer) Seal(v secret.Value, at Place) []byte {
	if v.Empty() {
		return nil
	}
	return s.aead.Seal(nil, nil, []byte(v.Reveal()), at.data())
}

// Open returns the token, empty for a nil one.
func (s *Sealer) Open(sealed []byte, at Place) (secret.Value, error) {
	if sealed == nil {
		return secret.Value{}, nil
	}
	text, err := s.aead.Open(nil, nil, sealed, at.data())
	if err != nil || len(text) == 0 {
		return secret.Value{}, errUnsealed
	}
	return secret.New(string(text)), nil
}

// Digests are the digests of secrets that people may see: the same for all hosts of a store.
func (k Key) Digests() secret.Digests {
	return secret.NewDigests(k.derive("opdeck digests of secrets v1"))
}

// SnapshotKey is the passphrase of snapshots that only this host's store opens: those from before a migration.
func (k Key) SnapshotKey() string {
	return hex.EncodeToString(k.derive("opdeck snapshot before a migration v1"))
}

// Pepper keys the fingerprints of passwords of one session.
func (s *Sealer) Pepper(key session.Key) secret.Value {
	return secret.New(hex.EncodeToString(s.key.derive("opdeck fingerprints v1\x00" + key.BaseURL + "\x00" + key.Account)))
}
