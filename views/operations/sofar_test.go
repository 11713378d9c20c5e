package operations

import (
	"testing"

	"opdeck/internal/domain/index"
	"opdeck/ui/uitest"
)

// TestAnIndexThatIsNotCompleteSaysSo: on the list, with its totals and in the form of an export, and only there.
func TestAnIndexThatIsNotCompleteSaysSo(t *testing.T) {
	const some, all = "read so far: 4 of about 40; about 5 min left", "read so far: 4 operations; about 5 min left"
	for _, c := range map[string]struct {
		total int64
		says  string
	}{"of a known number": {40, some}, "of an unknown number": {-1, all}} {
		f := &fake{n: 4, filling: true, fresh: index.Freshness{Total: c.total}}
		d := openWith(t, f, Config{Progress: func() (string, bool) { return "about 5 min left", true }}, admin)
		d.Send(uitest.Size(120, 40))
		d.Has(c.says)
		d.keys("e").Has("Not complete, " + c.says)
		d.keys("esc", "T").Has(c.says + ". Sums of the amount paid")
		d.keys("esc", "/").Send(uitest.Type("status:PENDING"), uitest.Key("enter"))
		d.Has("2 operations match", c.says)
	}
	d := openWith(t, &fake{filling: true}, Config{})
	d.Has("The index is empty: nothing was read yet.", "reads the newest operations (one billing call)")
	lacks(t, d, "0 operations")
	d = openWith(t, &fake{n: 4}, Config{})
	d.Has("4 operations  by created", "from the index, 30s ago")
	lacks(t, d, "so far")
	lacks(t, d, "newest now") // the header says it
	d.keys("e")
	lacks(t, d, "Not complete")
}
