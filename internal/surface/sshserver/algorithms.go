package sshserver

import (
	"crypto/rsa"
	"errors"
	"fmt"

	gossh "golang.org/x/crypto/ssh"
)

// Algorithms of the key exchange, preferred ones first. None uses SHA-1; a test compares the lists with the server's
// offer.
var (
	exchanges = []string{gossh.KeyExchangeMLKEM768X25519, gossh.KeyExchangeCurve25519, gossh.KeyExchangeECDHP256,
		gossh.KeyExchangeECDHP384, gossh.KeyExchangeECDHP521, gossh.KeyExchangeDH16SHA512, gossh.KeyExchangeDH14SHA256}
	ciphers = []string{gossh.CipherChaCha20Poly1305, gossh.CipherAES256GCM, gossh.CipherAES128GCM, gossh.CipherAES256CTR,
		gossh.CipherAES192CTR, gossh.CipherAES128CTR}
	macs = []string{gossh.HMACSHA256ETM, gossh.HMACSHA512ETM, gossh.HMACSHA256, gossh.HMACSHA512}
)

// algorithms are the accepted signature algorithms of clients.
var algorithms = []string{gossh.KeyAlgoED25519, gossh.KeyAlgoSKED25519, gossh.KeyAlgoECDSA256, gossh.KeyAlgoSKECDSA256,
	gossh.KeyAlgoRSASHA512, gossh.KeyAlgoRSASHA256}

// weakSignature reports whether a signature format uses SHA-1: ssh-rsa. DSA keys are not accepted at all, see usable.
func weakSignature(format string) bool { return format == gossh.KeyAlgoRSA }

// usable returns an error for weak keys.
func usable(pub gossh.PublicKey) error {
	switch pub.Type() {
	case gossh.KeyAlgoED25519, gossh.KeyAlgoSKED25519, gossh.KeyAlgoECDSA256, gossh.KeyAlgoSKECDSA256:
		return nil
	case gossh.KeyAlgoRSA:
		if c, ok := pub.(gossh.CryptoPublicKey); ok {
			if k, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && k.N.BitLen() >= 2048 {
				return nil
			}
		}
		return errors.New("the RSA key has less than 2048 bits")
	}
	return errors.New("this type of key is not accepted; use ed25519, ecdsa-256 or rsa")
}

// withoutSHA1 prevents an RSA host key from signing with SHA-1.
func withoutSHA1(key gossh.Signer) (gossh.Signer, error) {
	if key.PublicKey().Type() != gossh.KeyAlgoRSA {
		return key, nil
	}
	s, ok := key.(gossh.AlgorithmSigner)
	if !ok {
		return nil, fmt.Errorf("ssh: a host key of type %s cannot sign without SHA-1", key.PublicKey().Type())
	}
	return gossh.NewSignerWithAlgorithms(s, []string{gossh.KeyAlgoRSASHA512, gossh.KeyAlgoRSASHA256})
}
