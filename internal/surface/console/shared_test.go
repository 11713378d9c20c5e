package console

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/views/operations"
)

var newest = index.Query{Sort: index.Sort{Field: "created", Desc: true}, Limit: 5}

func rowsOf(ctx context.Context, t *testing.T, x operations.Index) operations.Window {
	t.Helper()
	w, err := x.Window(ctx, newest)
	if err != nil || len(w.Ops) == 0 {
		t.Fatal(w, err)
	}
	return w
}

// TestConsolesShareRows: two consoles hold the same rows and texts, once, also of another part of the list; each sees
// every write to the index at once.
func TestConsolesShareRows(t *testing.T) {
	a, clock := open(t)
	ctx, _ := as(api.Admin)
	if _, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Size: 20}); err != nil {
		t.Fatal(err)
	}
	s := NewShared(a)
	one, two := s.rowsFor(listing{a.Index, a.Now}), s.rowsFor(listing{a.Index, a.Now})
	r, q := rowsOf(ctx, t, one), rowsOf(ctx, t, two)
	if &r.Ops[0] != &q.Ops[0] {
		t.Error("a window is held twice")
	}
	part, err := two.Window(ctx, index.Query{Sort: newest.Sort, Limit: 3})
	if err != nil || unsafe.StringData(string(r.Ops[0].OPID)) != unsafe.StringData(string(part.Ops[0].OPID)) || &r.Ops[0].Raw[0] != &part.Ops[0].Raw[0] {
		t.Error("an operation is held twice", err)
	}
	if n, err := one.Count(ctx, filter.OperationExpr{}); err != nil || n != 20 {
		t.Errorf("%d rows, %v", n, err)
	}

	// Confirmed without a change: the rows are as old as the service says.
	clock.mu.Lock()
	clock.now = clock.now.Add(time.Minute)
	clock.mu.Unlock()
	seen := q.Seen
	if _, err := endpoint.Do(ctx, a.Client, endpoint.GetOperation, string(q.Ops[0].OPID)); err != nil {
		t.Fatal(err)
	}
	if now := rowsOf(ctx, t, two); !now.Seen.After(seen) {
		t.Errorf("confirmed at %s, shown as of %s", clock.Now(), now.Seen)
	}
	// Changed: so are the rows, and nothing of the change before.
	op := q.Ops[0]
	op.Raw, op.Comment, op.UpdatedAt.Time = nil, "changed", op.UpdatedAt.Add(time.Hour)
	if _, err := a.Index.Read(ctx, op, clock.Now()); err != nil {
		t.Fatal(err)
	}
	for _, x := range []operations.Index{one, two} {
		if now := rowsOf(ctx, t, x).Ops[0]; now.Comment != "changed" {
			t.Errorf("shown: %q", now.Comment)
		}
	}
	if q.Ops[0].Comment == "changed" {
		t.Error("rows that somebody holds were changed")
	}
	if _, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Size: 50}); err != nil {
		t.Fatal(err)
	}
	if n, err := two.Count(ctx, filter.OperationExpr{}); err != nil || n != 50 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestSharingKeepsRolesApart: what is masked for one role is not for another.
func TestSharingKeepsRolesApart(t *testing.T) {
	a, _ := open(t)
	ctx, _ := as(api.Admin)
	if _, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Size: 5}); err != nil {
		t.Fatal(err)
	}
	s := NewShared(a)
	for range 2 {
		for _, role := range api.Roles {
			ctx, _ := as(role)
			w := rowsOf(mask.ByCaller(ctx), t, s.rowsFor(listing{a.Index, a.Now}))
			number := string(w.Ops[0].Source.Account.Number)
			if masked := strings.HasPrefix(number, "••••"); masked == role.May(api.MayReveal) || masked != strings.Contains(string(w.Ops[0].Raw), "••••") {
				t.Errorf("%s sees %q", role, number)
			}
		}
	}
}

// TestManyAskAtOnce: one reads, the others wait for it; a failure is no one
// else's, and who is sent away does not wait.
func TestManyAskAtOnce(t *testing.T) {
	s := &Shared{}
	all := answers[int]{}
	var mu sync.Mutex
	reads := 0
	begun, free := make(chan struct{}, 1), make(chan struct{})
	read := func() (int, error) {
		mu.Lock()
		reads++
		mu.Unlock()
		begun <- struct{}{}
		<-free
		return 7, nil
	}
	var group sync.WaitGroup
	group.Go(func() { _, _ = ask(t.Context(), s, all, "q", read) })
	<-begun
	for range 20 {
		group.Go(func() {
			if n, err := ask(t.Context(), s, all, "q", read); n != 7 || err != nil {
				t.Error(n, err)
			}
		})
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := ask(gone, s, all, "q", read); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(free)
	group.Wait()
	if reads != 1 {
		t.Errorf("%d reads", reads)
	}
	bad := errors.New("disk")
	if _, err := ask(t.Context(), s, all, "p", func() (int, error) { return 0, bad }); !errors.Is(err, bad) {
		t.Error(err)
	}
	if n, err := ask(t.Context(), s, all, "p", func() (int, error) { return 8, nil }); n != 8 || err != nil {
		t.Error(n, err)
	}
}
