package operations

import (
	"testing"

	"opdeck/ui/uitest"
)

// TestTheServiceIsAskedForWhatTheIndexLacks: a filter that the service has as well
// is asked of it while the index does not hold everything, and then only.
func TestTheServiceIsAskedForWhatTheIndexLacks(t *testing.T) {
	for name, c := range map[string]struct {
		complete bool
		filter   string
		pages    int
	}{
		"lacking":             {false, "customer:Ana", 1},
		"lacking, an id":      {false, "customer:DqCsgSE-4e95-ViYbNI", 2}, // it may be a name after all
		"complete":            {true, "customer:Ana", 0},
		"no filter of theirs": {false, "status:PENDING", 0},
	} {
		f := &fake{n: 40, filling: !c.complete}
		d := open(t, f)
		d.Send(uitest.Key("/"), uitest.Type(c.filter), uitest.Key("enter"))
		if f.pages != c.pages {
			t.Errorf("%s: %d pages read, want %d", name, f.pages, c.pages)
		}
	}
}
