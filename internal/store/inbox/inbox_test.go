package inbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/storetest"
)

// TestInboxMasksBodies: a body is masked for a role that may not see account
// numbers, whichever way it is read; the program merges it as it came.
func TestInboxMasksBodies(t *testing.T) {
	const secret = "DE89370400440532013000"
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b := inbox.New(s.Bulk, "https://service.test", "machine")
		for i, raw := range []string{
			`{"Data":{"Account":{"number":"123456789012","requisites":[{"items":[{"key":"x","value":"` + secret + `"}]}]}}}`,
			"broken " + secret + " 123456789012"} {
			r := receiver.Record{Key: fmt.Sprint("k", i), Raw: []byte(raw), ReceivedAt: indextest.Now}
			if _, err := b.Insert(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		for role, want := range map[api.Role]bool{"": true, api.Operator: true, api.Admin: true, api.Viewer: false,
			api.OnCall: false} {
			ctx := mask.ByCaller(api.WithActor(t.Context(), api.Actor{Role: role}))
			one, err1 := b.Get(ctx, "k0")
			all, err2 := b.List(ctx, receiver.Filter{})
			behind, err3 := b.After(ctx, 0, 10)
			if err := errors.Join(err1, err2, err3); err != nil || len(all) != 2 || len(behind) != 2 {
				t.Fatal(err)
			}
			for _, e := range append(append(all, behind...), one) {
				if got := strings.Contains(string(e.Raw), "12345678") &&
					strings.Contains(string(e.Raw), secret[:10]); got != want || !want && strings.Contains(string(e.Raw), "12345678") {
					t.Errorf("%q reads %s", role, e.Raw)
				}
			}
		}
	})
}
