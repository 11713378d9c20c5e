package app

import (
	"bytes"
	"encoding/json"
	"io"

	"opdeck/api"
	"opdeck/internal/domain/mask"
)

// maxMasked is the largest answer that is masked, in bytes: it is read whole.
const maxMasked = 16 << 20

// maskBody replaces the body by a masked one. An answer that is neither JSON nor text
// cannot be masked, and is not passed on.
func maskBody(op string, out *api.Relayed) error {
	raw, err := io.ReadAll(io.LimitReader(out.Body, maxMasked+1))
	_ = out.Body.Close() // after its end: the index learns what was read, unmasked
	switch {
	case err != nil:
		return &api.Error{Op: op, Kind: api.Unavailable, Public: "The service's answer broke off.", RequestID: out.RequestID, Err: err}
	case len(raw) > maxMasked:
		return &api.Error{Op: op, Kind: api.Unavailable, Public: "The answer is larger than 16 MB and cannot be masked.", RequestID: out.RequestID,
			Remedy: api.Remedy{Kind: api.AskForLess}}
	case json.Valid(raw):
		raw = mask.JSON(raw)
	default:
		raw = []byte(mask.Text(string(raw)))
	}
	out.Body, out.Size = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	out.Header.Del("Etag") // of another text
	return nil
}
