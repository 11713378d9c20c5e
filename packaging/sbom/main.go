// Command sbom writes the bill of materials of a built program as CycloneDX 1.5
// JSON: the modules that the program itself says it was built from.
//
//	go run ./packaging/sbom 1.0.0 COMMIT dist/opdeck-linux-amd64 > dist/opdeck.cdx.json
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "sbom: give version, commit and the built program")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[3])
	if err == nil {
		err = write(os.Stdout, os.Args[1], os.Args[2], info)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

type bill struct {
	Format     string       `json:"bomFormat"`
	Spec       string       `json:"specVersion"`
	Version    int          `json:"version"`
	Metadata   metadata     `json:"metadata"`
	Components []component  `json:"components"`
	Depends    []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// write writes the bill of materials from the build information in the program. It is reproducible.
func write(w io.Writer, version, commit string, info *debug.BuildInfo) error {
	main := component{Type: "application", Ref: info.Main.Path, Name: info.Main.Path, Version: version,
		Properties: []property{{"vcs.revision", commit}}}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			main.Properties = append(main.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	b := bill{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{main},
		Components: []component{{Type: "library", Ref: "std", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
			PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}}
	all := []string{"std"}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
		c.Ref = c.PURL
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil {
			return fmt.Errorf("sum of %s: %w", m.Path, err)
		}
		if len(sum) > 0 {
			c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
		}
		b.Components = append(b.Components, c)
		all = append(all, c.Ref)
	}
	b.Depends = []dependency{{Ref: main.Ref, On: all}}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(b)
}
