package operations

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"opdeck/api/apitest"
	"opdeck/ui/uitest"
)

// own keeps a person's views in memory.
type own struct {
	list []View
	err  error
}

func (o *own) config() Config {
	return Config{Views: views, Own: func(context.Context) ([]View, error) { return slices.Clone(o.list), o.err },
		KeepView: func(_ context.Context, name string, v *View) error {
			if o.err != nil {
				return o.err
			}
			o.list = slices.DeleteFunc(o.list, func(x View) bool { return x.Name == name })
			if v != nil {
				o.list = append(o.list, *v)
			}
			return nil
		}}
}

func (o *own) names() (out []string) {
	for _, v := range o.list {
		out = append(out, v.Name+" "+v.Filter+" "+v.Sort)
	}
	return out
}

// choose opens the menu of views and takes what is typed.
func (d *listed) choose(what string) *listed {
	d.keys("v")
	d.Send(uitest.Type(what))
	return d.keys("enter")
}

// TestViewsAreSavedFromInside: saved, changed, saved again, renamed and deleted.
func TestViewsAreSavedFromInside(t *testing.T) {
	o := &own{}
	d := openWith(t, &fake{n: 40}, o.config())
	d.typed("status:PENDING").keys("enter").choose("save this")
	d.Send(uitest.Type("pending"))
	d.keys("enter")
	d.Has("a view with that name exists") // of the config
	d.Send(uitest.Type(" mine"))
	d.keys("enter")
	d.Has("view pending mine", "is saved")
	d.typed(" amount>5").keys("enter")
	d.Has("view pending mine, changed")
	d.choose("with the current settings")
	lacks(t, d, "changed")
	if want := []string{"pending mine status:PENDING amount>5 -created"}; !slices.Equal(o.names(), want) {
		t.Fatalf("kept %q, want %q", o.names(), want)
	}
	d.choose("rename").keys("enter", "backspace")
	d.keys("enter")
	d.Has("view pending min")
	d.keys("v")
	d.Has("config", "yours")
	d.keys("esc")
	d.choose("delete").keys("enter")
	d.Has("Delete your view “pending min”?")
	d.Send(d.clock.Wait(time.Second))
	d.keys("y")
	d.Has("is deleted")
	if len(o.list) > 0 {
		t.Errorf("kept %q", o.names())
	}
}

// TestOddViews: a name from the file is painted, and what cannot be kept is said.
func TestOddViews(t *testing.T) {
	o := &own{list: []View{{Name: "x" + apitest.Hostile, Filter: "status:PENDING", Own: true}}}
	d := openWith(t, &fake{n: 40}, o.config())
	d.keys("v", "down", "down", "down", "down", "enter")
	d.Has("view x·")
	o.err = errors.New("no such folder")
	d.choose("save this")
	d.Send(uitest.Type("b"))
	d.keys("enter")
	d.Has("The view is not saved")
	broken := openWith(t, &fake{n: 4}, o.config())
	broken.Has("Views: ", "4 operations")
}
