package endpoint_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
)

// filesAnswer is a page of files with those ids, of a list of that many.
func filesAnswer(total int, ids ...string) string {
	items := make([]string, len(ids))
	for i, id := range ids {
		items[i] = fmt.Sprintf(`{"id":%q,"name":"a.pdf","size":6}`, id)
	}
	return fmt.Sprintf(`{"items":[%s],"meta":{"total":"%d"}}`, strings.Join(items, ","), total)
}

// TestAFileIsDeletedByTwoEqualReadings: where the service does not say that there is no such file, only two readings of
// all the customer's files that are equal and lack it prove that it was deleted.
func TestAFileIsDeletedByTwoEqualReadings(t *testing.T) {
	const broken = `{"error":"try again later"}`
	for name, c := range map[string]struct {
		file  string   // what the read of the file is answered with; it has no name
		lists []string // what the reads of pages are answered with, in order
		want  bool
		calls int
		cover evidence.Cover
	}{
		"two equal readings without it": {broken, []string{filesAnswer(1, "f-2"), filesAnswer(1, "f-2")}, true, 3,
			evidence.Twice},
		"the second lists it":       {broken, []string{filesAnswer(1, "f-2"), filesAnswer(2, "f-1", "f-2")}, false, 3, 0},
		"the second is another one": {broken, []string{filesAnswer(1, "f-2"), filesAnswer(1, "f-3")}, false, 3, 0},
		"the first lists it":        {broken, []string{filesAnswer(2, "f-1", "f-2")}, false, 2, 0},
		"in another case":           {broken, []string{filesAnswer(1, "F-1")}, false, 2, 0},
		"one has no id":             {broken, []string{filesAnswer(2, "", "f-2")}, false, 2, 0},
		"no file is left":           {broken, []string{filesAnswer(0), filesAnswer(0)}, true, 3, evidence.Twice},
		"the service knows none":    {`{"error":"Document not found: f-1"}`, nil, true, 1, evidence.Whole},
	} {
		t.Run(name, func(t *testing.T) {
			lists := c.lists
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case !strings.HasSuffix(r.URL.Path, "/file"):
					w.WriteHeader(http.StatusNotFound)
					_, _ = w.Write([]byte(c.file))
				case len(lists) == 0:
					t.Error("one more page was read")
				default:
					_, _ = w.Write([]byte(lists[0]))
					lists = lists[1:]
				}
			}))
			defer srv.Close()
			got, err := endpoint.Do(t.Context(), clientAt(t, srv.URL), endpoint.Look,
				api.Probe{Kind: api.ActDeleteFile, CUID: "C1", GUID: "f-1"})
			if err != nil || got.Shown != c.want || got.Calls != c.calls || c.want && got.Evidence.Covers != c.cover {
				t.Errorf("shown %t after %d calls, %+v, %v", got.Shown, got.Calls, got.Evidence, err)
			}
			if len(lists) > 0 {
				t.Errorf("%d readings were not made", len(lists))
			}
		})
	}
}
