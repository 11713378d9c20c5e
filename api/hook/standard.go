package hook

import (
	"crypto/hmac"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// The Standard Webhooks scheme: HMAC-SHA256 over "id.timestamp.body", one or
// several signatures in one header.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"

	secretPrefix  = "whsec_"
	minKey        = 24 // bytes after the prefix, required by the scheme
	maxSignatures = 16
)

type standard struct {
	keys   [][]byte
	maxAge time.Duration // 0: no limit
}

func (*standard) Name() string { return VerifyStandard }

func (s *standard) Verify(d Delivery) (Verdict, error) {
	id, ok1 := single(d.Header, headerID)
	stamp, ok2 := single(d.Header, headerTimestamp)
	list, ok3 := single(d.Header, headerSignature)
	if !ok1 || !ok2 || !ok3 || len(id) > 256 {
		return refuse("header",
			"One of the headers "+headerID+", "+headerTimestamp+" and "+headerSignature+" is missing or repeated.")
	}
	which, head := -1, []byte(id+"."+stamp+".")
	for _, signature := range splitSignatures(list) {
		for i, key := range s.keys {
			if hmac.Equal(signature, sum(key, head, d.Body)) && (which < 0 || i < which) {
				which = i
			}
		}
	}
	if which < 0 {
		return refuse("signature", "No signature matches: the sender's secret and that of [webhooks] differ, or the body "+
			"was "+
			"changed on the way.")
	}
	sec, ok := integer(stamp)
	if !ok {
		return refuse("timestamp", headerTimestamp+" is not a whole number of seconds.")
	}
	switch age, most := d.At.Unix()-sec, int64(s.maxAge.Seconds()); {
	case most > 0 && age > most:
		return refuse("too_old", "It was signed "+seconds(age)+" ago: [webhooks] max_age is "+s.maxAge.String()+".")
	case age < -max(most, int64(MaxAge.Seconds())):
		return refuse("from_the_future", "It was signed "+seconds(-age)+" from now: the clocks differ.")
	}
	return Verdict{Verifier: VerifyStandard, Authenticated: true, Bound: true, OldSecret: which > 0}, nil
}

func seconds(n int64) string { return span(time.Duration(min(n, 1<<31)) * time.Second) }

// splitSignatures returns the well-formed v1 signatures of a header, which are separated by spaces; other versions
// are skipped.
func splitSignatures(header string) (out [][]byte) {
	if len(header) > maxToken {
		return nil
	}
	for _, s := range strings.Split(header, " ") {
		version, sig, ok := strings.Cut(s, ",")
		if !ok || version != "v1" || strings.ContainsAny(sig, "\r\n") {
			continue
		}
		b, err := base64.StdEncoding.Strict().DecodeString(sig)
		if err == nil && len(b) == 32 && len(out) < maxSignatures {
			out = append(out, b)
		}
	}
	return out
}

// standardKeys decodes secrets with the prefix whsec_ and uses others unchanged.
func standardKeys(s Secrets) ([][]byte, error) {
	var out [][]byte
	for _, v := range s.list() {
		k, err := standardKey(v.Reveal())
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

func standardKey(text string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok {
		return []byte(text), nil
	}
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(b) < minKey {
		return nil, &SecretError{"behind " + secretPrefix + " there must be at least " + strconv.Itoa(minKey) +
			" bytes in base64"}
	}
	return b, nil
}
