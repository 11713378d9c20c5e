package columns

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	in := []string{"created", "amount:24", "docs!", "fee", "comment:40"}
	list, err := Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	want := []Shown{{Name: "created"}, {Name: "amount", Width: 24}, {Name: "docs", Kept: true}, {Name: "fee"}, {Name: "comment", Width: 40}}
	if !slices.Equal(list, want) {
		t.Errorf("%v", list)
	}
	if out := Strings(list); !slices.Equal(out, in) {
		t.Errorf("written as %v", out)
	}
	for i, wanted := range []bool{false, true, true, true, true} {
		if list[i].Wanted() != wanted {
			t.Errorf("%s is wanted: %v", list[i], !wanted)
		}
	}
	if s := (Shown{Name: "fee", Kept: true}).String(); s != "fee" { // it is wanted as it is
		t.Errorf("written as %s", s)
	}
}

func TestMistakes(t *testing.T) {
	for in, want := range map[string]string{
		"colour":         `there is no column "colour"; there are created, `,
		"":               `there is no column ""`,
		"created:3":      "the width of created is a number from 16 to 200",
		"amount:x":       "the width of amount is a number",
		"amount:201":     "to 200",
		"fee,fee":        "the column fee comes twice",
		"fee!,fee:20":    "comes twice",
		"amount:24:8":    "the width of amount",
		"\x1b[2Jcreated": `there is no column "\x1b[2Jcreated"`,
	} {
		if _, err := Parse(strings.Split(in, ",")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %s", in, err, want)
		}
	}
	if list, err := Parse(nil); list != nil || err != nil {
		t.Errorf("no entries give %v, %v", list, err)
	}
}

func TestUsualOnesAreKnown(t *testing.T) {
	if again, err := Parse(Strings(Usual())); err != nil || !slices.Equal(again, Usual()) {
		t.Errorf("%v, %v", again, err)
	}
	if n := len(Names()); n != 17 || slices.Contains(Names(), "") {
		t.Errorf("%d columns", n)
	}
}
