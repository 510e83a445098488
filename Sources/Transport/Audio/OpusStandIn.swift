/// Stands in for libopus where PCM is nobody's: a simulation of whole calls takes seconds of it in microseconds.
///
/// What it writes must look like Opus by its first byte, by which the jitter buffer tells a packet's length.
package protocol OpusStandIn: AnyObject {
    /// Writes the packet of one frame of 48 kHz mono into `room`, and returns its bytes; 0 when there is no room.
    func encode(_ pcm: UnsafeBufferPointer<Int16>, into room: UnsafeMutableRawBufferPointer) -> Int

    /// Writes the PCM of `packet` to the front of `output`, and returns its samples; 0 for a packet that it did not write.
    func decode(_ packet: UnsafeRawBufferPointer, into output: UnsafeMutableBufferPointer<Int16>) -> Int

    /// Fills `output` in place of a packet that is missing.
    func conceal(into output: UnsafeMutableBufferPointer<Int16>)
}
