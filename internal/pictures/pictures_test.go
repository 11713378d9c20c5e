package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPicturesAreNotOld plays every scene and holds its words against those in
// the pictures; "go run ./internal/pictures" makes them anew.
func TestPicturesAreNotOld(t *testing.T) {
	if testing.Short() {
		t.Skip("plays every scene")
	}
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			f, err := play(t.Context(), sc, "dark")
			if err != nil {
				t.Fatal(err)
			}
			want := plain(f)
			for _, g := range grounds {
				b, err := os.ReadFile(filepath.Join("..", "..", "docs", "pictures", sc.name+"-"+g.name+".svg"))
				if err != nil {
					t.Fatalf("%v; go run ./internal/pictures makes it", err)
				}
				var pic struct {
					Desc  string   `xml:"desc"`
					Texts []string `xml:"text"`
				}
				if err := xml.Unmarshal(b, &pic); err != nil {
					t.Fatalf("%s: %v", g.name, err)
				}
				if got := strings.TrimSpace(pic.Desc); got != want {
					t.Errorf("%s is older than its screen; go run ./internal/pictures makes it anew\nthe picture:\n%s\nthe screen:\n%s", g.name, got, want)
				}
				if len(pic.Texts) < 10 {
					t.Errorf("%s: %d texts are drawn", g.name, len(pic.Texts))
				}
			}
		})
	}
}
