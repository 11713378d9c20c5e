package journal_test

import (
	"fmt"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/replace"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// TestPruneJobs: replacements go when they ended and are too old; unfinished ones never.
func TestPruneJobs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx := t.Context()
		jobs := journal.NewJobs(st.Core, "a")
		old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for i, step := range []replace.Step{replace.Attached, replace.Abandoned, replace.Attaching, replace.Attached} {
			at := old
			if i == 3 {
				at = old.Add(48 * time.Hour)
			}
			if err := jobs.Save(ctx, replace.Job{ID: fmt.Sprint(i), Step: step, Created: old, Updated: at}, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []int{1, 1, 0} {
			if n, err := journal.PruneJobs(ctx, st.Core, old.Add(24*time.Hour), 1); err != nil || n != want {
				t.Error(n, err)
			}
		}
		for i, there := range []bool{false, false, true, true} {
			if _, err := jobs.Job(ctx, fmt.Sprint(i)); (err == nil) != there {
				t.Errorf("job %d: %v", i, err)
			}
		}
	})
}

// TestPruneApprovals: requests go when they have ended and are too old, whatever they ended with,
// but one whose act may have been done stays.
func TestPruneApprovals(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx := t.Context()
		rows := journal.NewApprovals(st.Core)
		now, err := rows.Now(ctx)
		if err != nil {
			t.Fatal(err)
		}
		stays := map[string]bool{}
		put := func(age time.Duration, state approval.State, verdict api.Verdict, stay bool) {
			r := approval.Request{ID: fmt.Sprintf("%d-%s-%s", age, state, verdict), Scope: "a", State: state, Verdict: verdict,
				Created: now.Add(-age), Expires: now.Add(-age + approval.Lifetime)}
			r.Target = r.ID
			stays[r.ID] = stay
			if err := rows.Update(ctx, "a", "ana", r.ID, func(time.Time, []approval.Request) ([]approval.Request, error) {
				return []approval.Request{r}, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, age := range []time.Duration{time.Hour, 48 * time.Hour} {
			young := age == time.Hour
			for _, s := range []approval.State{approval.Denied, approval.Lapsed, approval.Void} {
				put(age, s, "", young)
			}
			for _, s := range []approval.State{approval.Open, approval.Approved} {
				put(age, s, "", true)
			}
			for _, v := range []api.Verdict{api.Done, api.Denied, api.Failed, api.NotSeen} {
				put(age, approval.Spent, v, young)
			}
			for _, v := range []api.Verdict{"", api.Unclear} {
				put(age, approval.Spent, v, true)
			}
		}
		removed := 0
		for n := 2; n == 2; removed += n {
			if n, err = journal.PruneApprovals(ctx, st.Core, now.Add(-24*time.Hour), 2); err != nil {
				t.Fatal(err)
			}
		}
		if removed != 7 {
			t.Errorf("%d were removed", removed)
		}
		for id, stay := range stays {
			if _, err := rows.Get(ctx, "a", id); (err == nil) != stay {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}
