// Package receivertest makes deliveries for tests.
package receivertest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
)

// Start is when Record 0 arrived.
var Start = time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)

// ID returns a hook_id for n.
func ID(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n) }

// Body returns an operation's delivery.
func Body(n int, opid string) []byte {
	return fmt.Appendf(nil, `{"hook_id":"%s","hook_type":1,"Data":{"Operation":{"opid":"%s","cuid":"D1",`+
		`"status":1,"type":3,"updated_at":{"seconds":%d}}}}`, ID(n), opid, 1_700_000_000+n)
}

// Sign sets the header of a delivery to a token that covers its body. alg is "" for HS256.
func Sign(h http.Header, header, alg, key string, body []byte, at time.Time) {
	sum := sha256.Sum256(body)
	token, err := jwt.NewWithClaims(jwt.GetSigningMethod(cmp.Or(alg, hook.HS256)), jwt.MapClaims{
		"iat": at.Unix(), "exp": at.Add(hook.MaxAge).Unix(), "jti": uuid.NewString(),
		"body_sha256": hex.EncodeToString(sum[:])}).SignedString([]byte(key))
	if err != nil {
		panic(err) // a byte key always signs
	}
	h.Set(cmp.Or(header, "Authorization"), "Bearer "+token)
}

// Deliver sends a body to a receiver that verifies nothing, and returns the newest event of the inbox; false: it was
// not accepted.
func Deliver(t testing.TB, in receiver.Inbox, body []byte) (receiver.Stored, bool) {
	t.Helper()
	ctx := context.Background()
	none, err := hook.NewVerifier(hook.VerifyNone, "", hook.Secrets{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := receiver.New(receiver.Options{Inbox: in, Verifier: none})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close(ctx) }()
	req, w := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/hooks", bytes.NewReader(body)), httptest.NewRecorder()
	req.RemoteAddr = "127.0.0.1:40000"
	if r.ServeHTTP(w, req); w.Code != http.StatusOK {
		return receiver.Stored{}, false
	}
	rows, err := in.List(ctx, receiver.Filter{Limit: 1})
	if err != nil || len(rows) == 0 {
		t.Fatal(rows, err)
	}
	return rows[0], true
}

// Record returns a verified record of Body that arrived n minutes after Start.
func Record(n int, opid string) receiver.Record {
	b := Body(n, opid)
	return receiver.Record{Key: ID(n), HookID: ID(n), Type: hook.TypeOperation, Object: hook.ObjectOperation,
		ObjectID: "op", CUID: "D1", Raw: b, Hash: sha256.Sum256(b),
		ReceivedAt: Start.Add(time.Duration(n) * time.Minute), Source: "192.0.2.1",
		Verdict: hook.Verdict{Verifier: hook.VerifyJWT, Authenticated: true}, Status: receiver.Verified}
}
