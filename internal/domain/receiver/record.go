package receiver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"opdeck/api/hook"
)

// delivery is an accepted body with the circumstances of its arrival.
type delivery struct {
	body    []byte
	verdict hook.Verdict
	source  Source
	at      time.Time
}

// read makes the record of a delivery. It cannot fail: an unusable delivery is quarantined with the reason.
func read(d delivery) Record {
	r := Record{
		Raw: d.body, Hash: sha256.Sum256(d.body), ReceivedAt: d.at.UTC(), Source: d.source, Verdict: d.verdict,
		Status: Unverified,
	}
	r.Token, r.Verdict.Token = d.verdict.Token, nil
	if d.verdict.Authenticated {
		r.Status = Verified
	}
	e, err := hook.Decode(d.body)
	if err != nil {
		var bad *hook.Malformed
		if !errors.As(err, &bad) {
			bad = &hook.Malformed{Reason: hook.ReasonShape, Detail: "it cannot be read"}
		}
		return r.quarantine(bad)
	}
	r.Key, r.HookID, r.Type, r.Object, r.ObjectID, r.CUID = e.ID, e.ID, e.Type, e.Object, e.ObjectID, e.CUID
	return r
}

func (r Record) quarantine(bad *hook.Malformed) Record {
	r.Status, r.Reason, r.Detail = Quarantined, bad.Reason, bad.Detail
	r.HookID, r.Type, r.Object = bad.ID, bad.Type, bad.Object
	if r.Key = bad.ID; r.Key == "" {
		r.Key = "sha256:" + hex.EncodeToString(r.Hash[:])
	}
	return r
}
