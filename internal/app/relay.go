package app

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/internal/domain/mask"
)

// maxMasked bounds an answer that is masked, in bytes: it is read whole.
const maxMasked = 16 << 20

// maskBody replaces the body by a masked one. Masking goes by member names, so an answer that is not JSON, or has
// JSON inside its texts, is refused.
func maskBody(op string, role api.Role, out *api.Relayed) error {
	raw, err := io.ReadAll(io.LimitReader(out.Body, maxMasked+1))
	_ = out.Body.Close() // before masking, so that the index gets what was read
	switch {
	case err != nil:
		return &api.Error{Op: op, Kind: api.Unavailable, Public: "The service's answer broke off.", RequestID: out.RequestID,
			Err: err}
	case len(raw) > maxMasked:
		return &api.Error{Op: op, Kind: api.Unavailable, Public: "The answer is larger than 16 MB and cannot be masked.",
			RequestID: out.RequestID,
			Remedy:    api.Remedy{Kind: api.AskForLess}}
	case len(bytes.TrimSpace(raw)) > 0 && !maskable(raw):
		e := api.LacksPermission(op, role, api.MayReveal)
		e.Public, e.RequestID = "The service's answer is not plain JSON, so it cannot be masked for your role.",
			out.RequestID
		return e
	}
	if out.Status >= 300 {
		raw = mask.Refusal(raw)
	} else {
		raw = mask.JSON(raw)
	}
	out.Body, out.Size = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	out.Header.Del("Etag") // it belongs to the unmasked text
	return nil
}

// maskable reports whether b is JSON, without JSON in one of its texts.
func maskable(b []byte) bool {
	if !json.Valid(b) {
		return false
	}
	var v any
	return json.Unmarshal(b, &v) == nil && plain(v)
}

func plain(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, it := range v {
			if !plain(it) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(it any) bool { return !plain(it) })
	case string:
		inner := strings.TrimSpace(v)
		return !(strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[")) || !json.Valid([]byte(inner))
	}
	return true
}
