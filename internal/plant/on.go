//go:build ax_plant

package plant

import "os"

// planted is the fault of this process.
var planted = os.Getenv("AX_PLANT")

// On reports whether the fault is planted.
func On(name string) bool { return planted == name }
