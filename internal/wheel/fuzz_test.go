package wheel

import (
	"encoding/binary"
	"testing"
)

// FuzzWheel reads operations from bytes and compares the wheel with a sorted slice. One
// operation is a byte that says what and how wide, and the bytes of its operand.
func FuzzWheel(f *testing.F) {
	f.Add(int64(0), []byte{0x00, 5, 0x02, 10})
	f.Add(int64(-1), []byte{0x10, 255, 255, 0x20, 1, 2, 3, 4, 0x22, 9, 9, 9, 9, 0x01, 0})
	f.Add(int64(1)<<62, []byte{
		0x30, 1, 2, 3, 4, 5, 6, 7, 8, 0x13, 1, 1, 0x33, 0x7f, 2, 3, 4, 5, 6, 7, 8,
	})
	f.Fuzz(func(t *testing.T, start int64, ops []byte) {
		p := newPair(start)
		for n := 0; len(ops) > 0 && n < 500; n++ {
			op := ops[0]
			var b [8]byte
			k := copy(b[:], ops[1:min(len(ops), 1+1<<(op>>4&3))])
			ops = ops[1+k:]
			x := int64(binary.LittleEndian.Uint64(b[:]))
			if op&0x80 != 0 {
				x = -x
			}
			switch op & 3 {
			case 0:
				p.add(saturating(p.m.now, x))
			case 1:
				must(t, p.cancel(int(uint32(x))))
			case 2:
				must(t, p.advance(saturating(p.m.now, x), 0))
			case 3:
				must(t, p.advance(saturating(p.m.now, x), int(1+op>>2&3)))
			}
			must(t, p.check())
		}
	})
}
