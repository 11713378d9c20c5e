package store

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"opdeck/api/secret"
	"opdeck/api/session"
)

// errUnsealed says that a sealed token is not what was stored there: another
// key, another row, another generation, or changed bytes.
var errUnsealed = errors.New("store: a stored token cannot be unsealed")

// sealVersion is part of what a seal vouches for.
const sealVersion = 1

// sealer seals tokens with AES-256-GCM under random nonces.
type sealer struct {
	key  Key
	aead cipher.AEAD
}

func newSealer(key Key) (*sealer, error) {
	block, err := aes.NewCipher(key.derive("opdeck session tokens v1"))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &sealer{key: key, aead: aead}, nil
}

// place is where a token belongs; a seal opens nowhere else.
type place struct {
	token       string // access or refresh
	key         session.Key
	incarnation string
	gen         int64
}

// data is the associated data: every part with its length before it.
func (p place) data() []byte {
	b := []byte{sealVersion}
	for _, part := range []string{p.token, p.key.BaseURL, p.key.Account, p.incarnation} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return binary.AppendVarint(b, p.gen)
}

// seal returns nil for an empty token.
func (s *sealer) seal(v secret.Value, at place) []byte {
	if v.Empty() {
		return nil
	}
	return s.aead.Seal(nil, nil, []byte(v.Reveal()), at.data())
}

// open returns the token, empty for a nil one.
func (s *sealer) open(sealed []byte, at place) (secret.Value, error) {
	if sealed == nil {
		return secret.Value{}, nil
	}
	text, err := s.aead.Open(nil, nil, sealed, at.data())
	if err != nil || len(text) == 0 {
		return secret.Value{}, errUnsealed
	}
	return secret.New(string(text)), nil
}

// pepper keys the fingerprints of passwords of one session.
func (s *sealer) pepper(key session.Key) secret.Value {
	return secret.New(hex.EncodeToString(s.key.derive("opdeck fingerprints v1\x00" + key.BaseURL + "\x00" + key.Account)))
}
