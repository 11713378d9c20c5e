package main

import (
	"context"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPicturesAreNotOld plays every scene and holds its words against those in
// the pictures that pages show; "go run ./internal/tools/pictures" makes these anew.
func TestPicturesAreNotOld(t *testing.T) {
	if os.Getenv("OPDECK_TEST_TOOLS") == "" {
		t.Skip("plays every scene, for a minute; OPDECK_TEST_TOOLS=1 runs it")
	}
	root := filepath.Join("..", "..", "..")
	names, err := shown(root)
	if err != nil || len(names) == 0 {
		t.Fatalf("pages show %v, %v", names, err)
	}
	files, err := os.ReadDir(filepath.Join(root, kept))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !names[f.Name()] {
			t.Errorf("no page shows %s", f.Name())
		}
	}
	made := map[string]bool{}
	for _, sc := range scenes() {
		for _, g := range grounds {
			made[sc.name+"-"+g.name+".svg"] = true
		}
	}
	for name := range names {
		if !made[name] {
			t.Errorf("a page shows %s, and no scene makes it", name)
		}
	}
	all := scenes()
	screens := playAll(t.Context(), all)
	for n, sc := range all {
		t.Run(sc.name, func(t *testing.T) {
			got := <-screens[n]
			if got.err != nil {
				t.Fatal(got.err)
			}
			want := plain(got.frames[0])
			for _, g := range grounds {
				file := sc.name + "-" + g.name + ".svg"
				if !names[file] {
					continue
				}
				b, err := os.ReadFile(filepath.Join(root, kept, file))
				if err != nil {
					t.Fatalf("%v; go run ./internal/tools/pictures makes it", err)
				}
				var pic struct {
					Desc  string   `xml:"desc"`
					Texts []string `xml:"text"`
				}
				if err := xml.Unmarshal(b, &pic); err != nil {
					t.Fatalf("%s: %v", g.name, err)
				}
				if got := strings.TrimSpace(pic.Desc); got != want {
					t.Errorf("%s is older than its screen; go run ./internal/tools/pictures makes it anew\n%s", g.name,
						differing(got, want))
				}
				if len(pic.Texts) < 10 {
					t.Errorf("%s: %d texts are drawn", g.name, len(pic.Texts))
				}
			}
		})
	}
}

// played is what became of a scene.
type played struct {
	frames []frame
	err    error
}

// atOnce is how many scenes are played at the same time: they wait for screens to come to
// rest most of it.
const atOnce = 6

// playAll plays scenes, and gives what became of each.
func playAll(ctx context.Context, all []scene) []chan played {
	out, slots := make([]chan played, len(all)), make(chan struct{}, atOnce)
	for n := range out {
		out[n] = make(chan played, 1)
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			frames, err := play(ctx, all[n], "dark")
			out[n] <- played{frames, err}
		}()
	}
	return out
}

// differing are the lines that only one of two texts has: - the picture, + the screen.
func differing(got, want string) string {
	var out []string
	only := func(sign, a, b string) {
		there := strings.Split(b, "\n")
		for _, l := range strings.Split(a, "\n") {
			if !slices.Contains(there, l) {
				out = append(out, sign+" "+l)
			}
		}
	}
	only("-", got, want)
	only("+", want, got)
	return strings.Join(out, "\n")
}

// A picture is about what its scene says, or it is not made.
func TestWrongPicturesAreNotMade(t *testing.T) {
	if os.Getenv("OPDECK_TEST_TOOLS") == "" {
		t.Skip("plays scenes; OPDECK_TEST_TOOLS=1 runs it")
	}
	limits := scene{name: "x", w: 80, h: 24, where: "› Limits", word: "policy wait"}
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"another screen":   {[]step{list, {"6", "generation"}}, "this is not"},
		"nothing pressed":  {[]step{list}, "this is not"},
		"proves nothing":   {[]step{list, {"5", "billing"}}, "proves nothing"},
		"without its word": {[]step{list, {"5", "› Limits"}}, "did not come"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc := limits
			sc.steps = c.steps
			if name == "without its word" {
				sc.word, sc.patience = "a word that is nowhere", 3*time.Second
			}
			if _, err := play(t.Context(), sc, "dark"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%.300v", err)
			}
		})
	}
	for _, sc := range scenes() {
		if sc.where == "" || sc.word == "" || len(sc.steps) < 2 {
			t.Errorf("%s does not say what it shows", sc.name)
		}
	}
}
